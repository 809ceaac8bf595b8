// The last changes of the model, and taking back the last one.

import { announce, counted, find, make, say } from "./elements.js";
import { renamed } from "./memory.js";
import { change, model } from "./model.js";

export function showChanges() {
  const list = find("change-list");
  list.replaceChildren(...model.changes.map(line));
  if (!model.changes.length) list.append(make("li", { class: "soft" }, "Nothing has changed yet."));
  find("undo-button").disabled = !model.info.can_undo;
}

function line(entry) {
  const time = new Date(entry.time * 1000);
  const text = sentence(entry);
  return make(
    "li", { class: entry.undone ? "undone" : null },
    make("span", {}, entry.undone ? make("s", {}, text) : text, entry.undone ? " (undone)" : ""),
    make("time", { class: "soft", datetime: time.toISOString() }, time.toLocaleString([], { dateStyle: "short", timeStyle: "short" })),
  );
}

function sentence({ operation, labels, samples, undoes }) {
  const noun = model.info.takes === "pictures" ? "picture" : "row";
  const names = labels.join(", ");
  const sentences = {
    learn: `${counted(samples, noun)} of ${names} learned`,
    forget: `${counted(samples, noun)} of ${names} forgotten`,
    "forget-class": `${names} forgotten`,
    rename: `${labels[0]} renamed to ${labels[1]}`,
    merge: "another model merged",
  };
  if (operation === "undo") {
    const before = model.changes.find((entry) => entry.version === undoes);
    return before ? `taken back: ${sentence(before)}` : "an earlier change taken back";
  }
  return sentences[operation] ?? `${operation} ${names}`;
}

export function startHistory() {
  find("undo-button").addEventListener("click", async () => {
    const last = model.changes.find((entry) => !entry.undone && entry.operation !== "undo");
    say(find("header-message"), "");
    find("undo-button").disabled = true;
    try {
      if (last?.operation === "rename") renamed(String(last.labels[1]), String(last.labels[0]));
      await change("POST", "v1/undo", {}, "undo");
      announce("The last step was undone.");
    } catch (error) {
      if (last?.operation === "rename") renamed(String(last.labels[0]), String(last.labels[1]));
      say(find("header-message"), error.message, { error: true });
    } finally {
      find("undo-button").disabled = !model.info.can_undo;
    }
  });
}
