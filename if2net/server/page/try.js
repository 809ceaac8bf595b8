// Trying: a picture, the camera or a row of a table, and the ranking that the model answers with.

import { Camera, hasCamera, NO_CAMERA } from "./camera.js";
import { counted, find, make, percent, say } from "./elements.js";
import { colourOf } from "./memory.js";
import { change, learnedClass, model, noticeVersion } from "./model.js";
import { chosen, dropped, prepare, takeDrops } from "./pictures.js";
import { request } from "./service.js";

const TOP = 5;
const UNKNOWN = 0.05; // the share of known pictures that may be called "none of these"
const EACH = 500; // milliseconds between two predictions of the camera
const NEW = "new class"; // the option of a class that is not in the list

const camera = new Camera(find("try-video"));
let latest = null; // the question that was asked last
let asked = null; // what was answered last, to learn it: `{prediction, blob}`
let noNovelty = -1; // the version of a model that cannot answer "none of these" yet
let shownUrl = null;

/** Send the question that `body` makes for the service's options, and show the answer. */
async function ask(body, blob, { live = false } = {}) {
  const wanted = find("unknown").checked && noNovelty !== model.info.version;
  let answer;
  try {
    answer = await request("POST", ...body(wanted ? UNKNOWN : null, live));
  } catch (error) {
    if (!wanted || error.status !== 409) throw error;
    // A young model cannot tell "none of these": it is asked without. If that fails, too, there was another reason.
    answer = await request("POST", ...body(null, live));
    noNovelty = model.info.version;
  }
  noticeVersion(answer.version);
  return answer.predictions.map((prediction) => ({ prediction, blob, live }));
}

function pictureBody(blob) {
  return (unknown, live) => {
    const form = new FormData();
    form.append("files", blob, blob.name || "picture");
    form.append("top", TOP);
    if (unknown !== null) form.append("unknown", unknown);
    return ["v1/predict", { form, once: live }];
  };
}

/** A row with or without a heading. With one, the service finds the columns by their names. */
function rowBody(text) {
  const lines = text.trim().split(/\r?\n/).filter(Boolean);
  const cells = (line) => line.split(/[,;\t]/).map((cell) => cell.trim());
  const rows = lines.map((line) => cells(line).map(Number));
  if (rows[0].some(Number.isNaN)) {
    return (unknown) => [`v1/predict?top=${TOP}${unknown === null ? "" : `&unknown=${unknown}`}`, { text: lines.join("\n") }];
  }
  return (unknown) => ["v1/predict", { json: { rows, top: TOP, ...(unknown === null ? {} : { unknown }) } }];
}

async function tryFile(file) {
  stopCamera();
  const picture = await prepare(file);
  say(find("try-message"), picture.reason ? `${picture.name}: ${picture.reason}` : "", { error: true });
  if (picture.reason) return;
  if (shownUrl) URL.revokeObjectURL(shownUrl);
  shownUrl = URL.createObjectURL(picture.blob);
  if (picture.url) URL.revokeObjectURL(picture.url);
  showStage("picture");
  find("try-picture").src = shownUrl;
  await tryOut(pictureBody(picture.blob), picture.blob);
}

/** Ask and show the answer, unless a later question came meanwhile. */
async function tryOut(body, blob) {
  const question = (latest = { body, blob });
  find("try-panel").setAttribute("aria-busy", "true");
  try {
    const answers = await ask(body, blob);
    if (question !== latest) return;
    show(answers[0]);
    if (answers.length > 1) say(find("try-message"), `The answer is for the first of ${counted(answers.length, "row")}.`);
  } catch (error) {
    if (question !== latest) return;
    find("answer").hidden = true;
    say(find("try-message"), error.message, { error: true });
  } finally {
    if (question === latest) find("try-panel").removeAttribute("aria-busy");
  }
}

/** Ask again what was asked last: the model has changed. */
export function tryAgain() {
  if (latest && !camera.isOpen) tryOut(latest.body, latest.blob);
}

function show(answer) {
  asked = answer;
  const { label, unknown, top } = answer.prediction;
  find("answer").hidden = false;
  const verdict = unknown ? "None of these" : String(label);
  if (find("verdict").textContent !== verdict) find("verdict").textContent = verdict; // spoken when it changes
  find("verdict").className = unknown ? "verdict" : `verdict colour-${colourOf(String(label))}`;
  find("ranking").classList.toggle("faint", unknown);
  find("ranking").replaceChildren(...top.map(rank));
  find("unknown-hint").hidden = noNovelty !== model.info.version || !find("unknown").checked;
}

function rank({ label, probability }) {
  const bar = make("span", { class: "bar" });
  bar.style.width = `${100 * probability}%`;
  return make("li", { class: `colour-${colourOf(String(label))}` }, make("span", { class: "rank-name" }, String(label)), make("span", { class: "track", "aria-hidden": "true" }, bar), make("b", {}, percent(probability)));
}

function showStage(what) {
  find("stage-hint").hidden = what !== null;
  find("try-picture").hidden = what !== "picture";
  find("try-video").hidden = what !== "camera";
}

async function startCamera() {
  if (!hasCamera()) return say(find("try-message"), NO_CAMERA, { error: true });
  try {
    await camera.open();
  } catch (error) {
    return say(find("try-message"), error.message, { error: true });
  }
  say(find("try-message"), "");
  showStage("camera");
  find("try-turn").hidden = !(await camera.hasAnother());
  showCameraButton();
  while (camera.isOpen) {
    const start = performance.now();
    const blob = await camera.picture();
    try {
      if (!document.hidden) {
        const [answer] = await ask(pictureBody(blob), blob, { live: true });
        if (camera.isOpen) show(answer);
      }
    } catch (error) {
      say(find("try-message"), error.message, { error: true });
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(100, EACH - (performance.now() - start))));
  }
}

function stopCamera() {
  if (!camera.isOpen) return;
  camera.close();
  find("try-turn").hidden = true;
  showStage(null);
  showCameraButton();
}

function showCameraButton() {
  find("try-camera").setAttribute("aria-pressed", camera.isOpen);
  find("try-camera").querySelector("span").textContent = camera.isOpen ? "Stop the camera" : "Camera";
}

/** Open the question what it really is. A running camera stops at the picture that was answered. */
function openCorrection() {
  const isOpen = find("correction").hidden;
  find("correction").hidden = !isOpen;
  find("wrong").setAttribute("aria-expanded", isOpen);
  if (!isOpen) return;
  if (camera.isOpen) {
    stopCamera();
    if (shownUrl) URL.revokeObjectURL(shownUrl);
    find("try-picture").src = shownUrl = URL.createObjectURL(asked.blob);
    showStage("picture");
  }
  const { label, unknown } = asked.prediction;
  const others = model.info.classes.map(({ name }) => String(name)).filter((name) => unknown || name !== String(label));
  find("right-class").replaceChildren(...others.map((name) => make("option", {}, name)), make("option", { value: NEW }, "Something new"));
  showNewName();
  find("right-class").focus();
  find("correction").scrollIntoView({ block: "nearest" }); // its button, too
}

const isNew = () => find("right-class").selectedIndex === find("right-class").options.length - 1;
const showNewName = () => (find("right-other").hidden = !isNew());

function closeCorrection() {
  find("correction").hidden = true;
  find("wrong").setAttribute("aria-expanded", "false");
}

async function learnCorrection() {
  const name = isNew() ? find("right-name").value.trim() : find("right-class").value;
  if (!name) return say(find("try-message"), "Type the name of the class first.", { error: true });
  const { prediction, blob } = asked;
  const label = learnedClass(name)?.name ?? name;
  try {
    await learnAs(label, prediction.id, blob);
  } catch (error) {
    return say(find("try-message"), error.message, { error: true });
  }
  closeCorrection();
  find("right-name").value = "";
  say(find("try-message"), `Learned: this is ${name}.`);
}

/** Learn by the id of the prediction. The service remembers it for some minutes; after that the picture is sent again. */
async function learnAs(label, id, blob) {
  try {
    await change("POST", "v1/learn", { json: { ids: [id], labels: [label] } }, `1 correction: ${label}`);
  } catch (error) {
    if (!blob || ![404, 409].includes(error.status)) throw error;
    const form = new FormData();
    form.append("files", blob, "picture");
    form.append("label", label);
    await change("POST", "v1/learn", { form }, `1 correction: ${label}`);
  }
}

export function startTrying() {
  find("try-file").addEventListener("change", () => tryFirst(chosen(find("try-file"))));
  find("try-camera").addEventListener("click", () => (camera.isOpen ? stopCamera() : startCamera()));
  find("try-turn").addEventListener("click", () => camera.turn().catch((error) => say(find("try-message"), error.message, { error: true })));
  takeDrops(find("try-panel"), tryFirst);
  // A picture that is pasted anywhere but on a card is tried.
  document.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length) dropped(event.clipboardData).then(tryFirst);
  });
  find("unknown").addEventListener("change", tryAgain);
  find("row-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = find("row-text").value;
    if (!text.trim()) return say(find("try-message"), "Paste a row first.", { error: true });
    say(find("try-message"), "");
    tryOut(rowBody(text), null);
  });
  find("wrong").addEventListener("click", openCorrection);
  find("right-class").addEventListener("change", showNewName);
  find("correction").addEventListener("submit", (event) => {
    event.preventDefault();
    learnCorrection();
  });
}

function tryFirst(files) {
  if (files.length) tryFile(files[0].file);
}
