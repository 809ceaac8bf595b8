// Elements of the page: making them, messages near their place, questions that wait for an answer.

export const find = (id) => document.getElementById(id);

/** Make an element. Attributes that start with "on" are listeners; a value of null, undefined or false is left out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an element of a drawing. */
export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const icon = (name) => makeSvg("svg", { class: "icon", "aria-hidden": "true" }, makeSvg("use", { href: `#${name}` }));

/** Show a sentence at its place, with buttons that belong to it. An empty sentence clears the place. */
export function say(place, sentence, { error = false, actions = [] } = {}) {
  place.classList.toggle("error", error);
  place.replaceChildren(sentence, ...actions);
}

/** Tell screen readers about something that is seen elsewhere on the page. */
export function announce(sentence) {
  find("announcer").textContent = sentence;
}

/** Ask before something that cannot be taken back. */
export async function confirmed(title, text, action) {
  const dialog = find("confirm-dialog");
  find("confirm-title").textContent = title;
  find("confirm-text").textContent = text;
  find("confirm-yes").textContent = action;
  dialog.returnValue = "no";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "yes";
}

/** `1 picture`, `2 pictures`, `1,200 pictures`. */
export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;

export const percent = (share) => `${Math.round(100 * share)}\u00a0%`;
