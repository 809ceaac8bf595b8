// The page: puts the parts together and shows the state of the model in all of them.

import { drawChart } from "./chart.js";
import { counted, find, make, say } from "./elements.js";
import { showChanges, startHistory } from "./history.js";
import * as memory from "./memory.js";
import { model, onChange, onState, refresh } from "./model.js";
import { startPhotographs } from "./photographs.js";
import { request, takeTokenFromAddress } from "./service.js";
import { showClasses, startTeaching } from "./teach.js";
import { startTrying, tryAgain } from "./try.js";

function showModel() {
  const { info } = model;
  memory.load();
  const takesPictures = info.takes === "pictures";
  const noun = takesPictures ? "picture" : "row";
  document.title = `${info.name} · if2net`;
  find("model-name").textContent = info.name;
  const facts = [counted(info.classes.length, "class"), `${counted(info.samples, noun)} learned`, info.read_only ? "read only" : null];
  find("facts").textContent = facts.filter(Boolean).join(" · ");
  find("download-button").disabled = !info.learned;
  document.querySelector("main").inert = false; // from the first state on
  document.body.classList.toggle("read-only", info.read_only);
  document.body.classList.toggle("takes-rows", !takesPictures);
  find("row-form").hidden = takesPictures;
  find("row-hint").textContent = rowHint(info);
  find("teach-title").textContent = takesPictures && !info.read_only ? "Teach" : "Classes";
  find("teach-hint").textContent = teachHint(info);
}

function teachHint({ takes, read_only: readOnly, classes }) {
  if (readOnly) return "This server answers questions and learns nothing.";
  if (takes === "rows") return "This model learns rows of tables. Send them with a program, or correct its answers here.";
  if (!classes.length) return "";
  return "Drop pictures onto a card: they are learned at once. No picture is kept; what was learned stays.";
}

function rowHint({ features, feature_names: names }) {
  if (!names) return `${features === null ? "Numbers" : counted(features, "number")}, with commas between them.`;
  const some = names.slice(0, 6).join(", ");
  return `${counted(features, "number")}: ${some}${names.length > 6 ? ", …" : ""}. A first line with the names of the columns may come before.`;
}

async function download() {
  say(find("header-message"), "The model is being fetched.");
  try {
    const response = await request("GET", "v1/model", { raw: true });
    const url = URL.createObjectURL(await response.blob());
    const name = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition"))?.[1] ?? `${model.info.name}.if2`;
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser reads it for a while
    say(find("header-message"), "");
  } catch (error) {
    say(find("header-message"), error.message, { error: true });
  }
}

/** Ask for the state until it came once. */
async function begin() {
  try {
    await refresh();
  } catch (error) {
    const again = make("button", { type: "button", onclick: begin }, "Try again");
    say(find("facts"), `${error.message} `, { error: true, actions: [again] });
  }
}

takeTokenFromAddress();
onState(showModel);
onState(showClasses);
onState(showChanges);
onState(drawChart);
onChange(tryAgain);
onChange((what) => memory.measure(what, drawChart).catch(() => {})); // the next step measures again
find("download-button").addEventListener("click", download);
startTeaching();
startTrying();
startHistory();
startPhotographs();
// A file that misses its place must not replace the page.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && model.info) refresh().catch(() => {}); // somebody else may have taught it meanwhile
});
addEventListener("hashchange", takeTokenFromAddress); // an address with another token, in the same tab
begin();
