// Teaching: a card per class. Pictures that reach a card are learned at once, a drop as one step.

import { announce, confirmed, counted, find, icon, make, say } from "./elements.js";
import * as memory from "./memory.js";
import { change, learnedClass, model } from "./model.js";
import { photograph } from "./photographs.js";
import { chosen, dropped, prepare, takeDrops } from "./pictures.js";
import { newKey } from "./service.js";

const GROUP = 100; // pictures of one request, and so of one step to undo
const GROUP_BYTES = 12 * 1024 * 1024;
const SHOWN = 10; // small copies on a card
const REASONS = 3; // files that could not be read, by name

const cards = new Map(); // class → Card, in the order of the page

/** The card of a class; a new one comes first. */
function cardOf(name) {
  if (!cards.has(name)) {
    cards.set(name, new Card(name));
    find("cards").prepend(cards.get(name).element);
    showWelcome();
  }
  return cards.get(name);
}

const showWelcome = () => (find("welcome").hidden = cards.size > 0 || model.info.takes !== "pictures" || model.info.read_only);

class Card {
  #name;
  #samples = 0;
  #learned = false;
  #work = Promise.resolve(); // groups of pictures are learned one after the other
  #thumbnails = [];

  constructor(name) {
    this.#name = name;
    this.element = make("li", { class: "card" });
    this.#build();
  }

  #build() {
    const titleId = `class-${newKey().slice(0, 8)}`;
    this.title = make("h3", { id: titleId });
    this.count = make("p", { class: "soft" });
    this.pictures = make("ul", { class: "thumbnails", "aria-label": "Pictures added now" });
    this.bar = make("progress", { hidden: true, "aria-labelledby": titleId });
    this.message = make("p", { class: "message", role: "status" });
    this.heading = make("div", { class: "card-heading" }, make("span", { class: "dot" }), this.title, this.#button("pencil", "Rename", () => this.#rename()), this.#button("bin", "Forget", () => this.#forget()));
    this.hint = make("p", { class: "soft hint" }, "Drop pictures here");
    this.controls = make(
      "div", { class: "actions writes pictures-only" },
      this.#files("files", "Choose", { multiple: true, accept: "image/*" }),
      this.#files("folder", "Folder", { webkitdirectory: true }),
      make("button", { type: "button", onclick: () => photograph(this) }, icon("camera"), "Camera", this.#of()),
    );
    this.element.replaceChildren(make("article", { "aria-labelledby": titleId }, this.heading, this.count, make("div", { class: "drop pictures-only" }, this.pictures, this.hint), this.bar, this.message, this.controls));
    if (!model.info.read_only) takeDrops(this.element, (files) => this.add(files));
    this.element.addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.stopPropagation();
      dropped(event.clipboardData).then((files) => this.add(files));
    });
    this.#show();
  }

  /** The name of the class in the name of a button, for those who do not see where the button is. */
  #of() {
    const name = make("span", { class: "unseen" });
    (this.names ??= []).push(name);
    return name;
  }

  #button(symbol, action, act) {
    return make("button", { type: "button", class: "round writes", onclick: act, title: action }, icon(symbol), make("span", { class: "unseen" }, action), this.#of());
  }

  #files(symbol, text, attributes) {
    const field = make("input", { type: "file", class: "unseen", onchange: () => this.add(chosen(field)), ...attributes });
    return make("label", { class: "button" }, icon(symbol), text, this.#of(), field);
  }

  get name() {
    return this.#name;
  }

  #show() {
    this.element.className = `card colour-${memory.colourOf(this.#name)}`;
    this.title.textContent = this.#name;
    for (const name of this.names) name.textContent = ` ${this.#name}`;
    const noun = model.info.takes === "pictures" ? "picture" : "row";
    this.count.textContent = this.#learned ? `${counted(this.#samples, noun)} learned` : "Nothing learned yet";
    this.hint.hidden = this.#thumbnails.length > 0;
  }

  /** Show the service's state of this class; undefined: the model does not have it. */
  update(known) {
    this.#learned = known !== undefined;
    this.#samples = known?.samples ?? 0;
    this.#show();
  }

  get isLocal() {
    return !this.#learned;
  }

  /** Learn files, after those that were added before. */
  add(files) {
    if (!files.length) return this.#work;
    return (this.#work = this.#work.then(() => this.#take(files.map(({ file }) => file))));
  }

  async #take(files) {
    say(this.message, "");
    this.bar.hidden = false;
    let group = newGroup();
    for (const [number, file] of files.entries()) {
      [this.bar.max, this.bar.value] = [files.length, number];
      const picture = await prepare(file);
      if (picture.reason) {
        group.leftOut.push(picture);
        continue;
      }
      picture.aside = await memory.setAside(this.#name, picture.blob);
      this.#thumbnail(picture);
      if (picture.aside) continue;
      group.pictures.push(picture);
      group.bytes += picture.blob.size;
      if (group.pictures.length === GROUP || group.bytes > GROUP_BYTES) {
        if (!(await this.#learn(group))) return;
        group = newGroup(group.leftOut);
      }
    }
    await this.#learn(group);
    this.bar.hidden = true;
  }

  /**
   * Learn one group, and say which files could not be read. Returns whether it was learned.
   *
   * If the service is away for long, a button repeats the group with the same key, so that it cannot count twice.
   */
  async #learn(group) {
    if (!group.pictures.length) return this.#sayLeftOut(group);
    const form = new FormData();
    for (const { blob, name } of group.pictures) form.append("files", blob, name);
    form.append("label", this.#name);
    this.bar.removeAttribute("value"); // how long the service takes is not known
    this.bar.hidden = false;
    try {
      const answer = await change("POST", "v1/learn", { form, key: group.key }, (result) => `${counted(result.learned, "picture")} of ${this.#name}`);
      const unread = new Set(answer.left_out.map(({ name }) => name));
      group.leftOut.push(...answer.left_out);
      for (const picture of group.pictures) this.#settle(picture, !unread.has(picture.name));
      announce(`${counted(answer.learned, "picture")} of ${this.#name} learned.`);
      return this.#sayLeftOut(group);
    } catch (error) {
      const refused = error.status >= 400 && error.status < 500 && error.status !== 401;
      if (refused) for (const picture of group.pictures) this.#settle(picture, false);
      const again = make("button", { type: "button", onclick: () => (this.#work = this.#work.then(() => this.#learn(group))) }, "Try again");
      say(this.message, [error.message, ...reasons(group.leftOut)].join(" "), { error: true, actions: refused ? [] : [again] });
      return false;
    } finally {
      this.bar.hidden = true;
    }
  }

  #sayLeftOut({ leftOut }) {
    say(this.message, reasons(leftOut).join(" "), { error: true });
    return true;
  }

  #thumbnail(picture) {
    if (!picture.url) return;
    const text = picture.aside ? `${picture.name}, set aside for the chart` : picture.name;
    picture.item = make("li", { class: picture.aside ? "aside" : "waiting", title: text }, make("img", { src: picture.url, alt: text }));
    this.#thumbnails.push(picture);
    this.pictures.append(picture.item);
    if (this.#thumbnails.length > SHOWN) this.#settle(this.#thumbnails[0], false);
    this.hint.hidden = true;
  }

  /** Mark a small copy as learned, or remove it. */
  #settle(picture, stays) {
    picture.item?.classList.remove("waiting");
    if (stays || !picture.item) return;
    this.#thumbnails = this.#thumbnails.filter((other) => other !== picture);
    picture.item.remove();
    URL.revokeObjectURL(picture.url);
  }

  #rename() {
    const field = make("input", { value: this.#name, maxlength: 200, "aria-label": `New name of ${this.#name}`, autocapitalize: "off", spellcheck: "false" });
    const form = make("form", { class: "field" }, field, make("button", { type: "submit", class: "strong" }, "Rename"));
    const restore = () => {
      form.replaceWith(this.heading);
      this.heading.querySelector("button").focus();
    };
    form.addEventListener("keydown", (event) => event.key === "Escape" && restore());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const [old, name] = [this.#name, field.value.trim()];
      if (!name || name === old) return restore();
      if (cards.has(name)) return say(this.message, `There is already a class “${name}”. Choose another name.`, { error: true });
      try {
        if (this.#learned) await this.#renameLearned(old, name);
        else this.take(name);
        say(this.message, "");
        restore();
      } catch (error) {
        say(this.message, error.message, { error: true });
      }
    });
    this.heading.replaceWith(form);
    field.select();
  }

  #renameLearned(old, name) {
    this.take(name); // before the new state arrives, which would make a card of its own for the name
    return change("PATCH", `v1/classes/${encodeURIComponent(old)}`, { json: { name } }, `${old} renamed to ${name}`).catch((error) => {
      this.take(old);
      throw error;
    });
  }

  /** Be the card of another name. */
  take(name) {
    cards.delete(this.#name);
    cards.set(name, this);
    memory.renamed(this.#name, name);
    this.#name = name;
    this.#show();
  }

  async #forget() {
    const name = this.#name;
    if (this.#learned) {
      if (!(await confirmed(`Forget ${name}?`, `The model will not answer “${name}” any more. You can undo this for some minutes. After that, it must be taught again: no pictures are kept.`, "Forget"))) return;
      try {
        await change("DELETE", `v1/classes/${encodeURIComponent(name)}`, {}, `${name} forgotten`);
      } catch (error) {
        return say(this.message, error.message, { error: true });
      }
    }
    this.remove();
    announce(`${name} is forgotten.`);
    find("new-name").focus();
  }

  remove() {
    for (const { url } of this.#thumbnails) URL.revokeObjectURL(url);
    memory.forgotten(this.#name);
    cards.delete(this.#name);
    this.element.remove();
    showWelcome();
  }
}

/** Pictures that are learned as one step, and files that cannot be. */
const newGroup = (leftOut = []) => ({ key: newKey(), pictures: [], bytes: 0, leftOut });

/** Sentences about files that cannot be learned. */
function reasons(leftOut) {
  const more = leftOut.length - REASONS;
  // The reasons of the service begin with the name.
  const some = leftOut.slice(0, REASONS).map(({ name, reason }) => (reason.startsWith(name) ? reason : `${name}: ${reason}`));
  return more > 0 ? [...some, `And ${counted(more, "file")} more.`] : some;
}

/** Show the classes of the model: new ones get a card, those that are gone lose it unless they wait for pictures. */
export function showClasses() {
  const known = new Set(model.info.classes.map(({ name }) => String(name)));
  for (const card of [...cards.values()]) if (!known.has(card.name) && !card.isLocal) card.remove();
  for (const name of [...known].reverse()) cardOf(name); // each new card comes first
  for (const card of cards.values()) card.update(learnedClass(card.name));
  showWelcome();
}

/** Forms and drops of the section. */
export function startTeaching() {
  find("new-class").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = find("new-name").value.trim();
    if (!name) return say(find("new-message"), "Type the name of the class first.", { error: true });
    if (cards.has(name)) return say(find("new-message"), `There is already a class “${name}”.`, { error: true });
    say(find("new-message"), "");
    find("new-name").value = "";
    cardOf(name).controls.querySelector("input").focus();
  });
  // Folders that are dropped beside the cards are classes by their names.
  takeDrops(find("teach"), (files) => {
    if (model.info.read_only || model.info.takes !== "pictures") return;
    const loose = files.filter(({ folder }) => folder === null);
    if (loose.length) say(find("new-message"), "Drop pictures onto the card of their class. A folder becomes a class by its name.", { error: true });
    for (const [folder, inside] of Map.groupBy(files.filter(({ folder }) => folder !== null), ({ folder }) => folder)) cardOf(folder).add(inside);
  });
}
