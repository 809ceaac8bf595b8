// Pictures for a card from the camera, as many as the button is held for. One hold is one step.

import { Camera, hasCamera, NO_CAMERA } from "./camera.js";
import { counted, find, say } from "./elements.js";

const EACH = 250; // milliseconds between two pictures

const [dialog, shutter, turn, count] = ["camera-dialog", "shutter", "camera-turn", "camera-count"].map(find);
const camera = new Camera(find("camera-video"));
let card = null; // the card that gets the pictures
let taken = null; // pictures of the present hold; null: the button is not held

/** Open the camera for a card. */
export async function photograph(chosen) {
  if (!hasCamera()) return say(chosen.message, NO_CAMERA, { error: true });
  card = chosen;
  try {
    await camera.open();
  } catch (error) {
    return say(card.message, error.message, { error: true });
  }
  find("camera-title").textContent = `Pictures of ${card.name}`;
  say(count, "Move it a little between the pictures.");
  turn.hidden = !(await camera.hasAnother());
  dialog.showModal();
  shutter.focus();
}

async function hold() {
  if (taken) return;
  const pictures = (taken = []);
  do {
    pictures.push({ file: await camera.picture() });
    say(count, counted(pictures.length, "picture"));
    await new Promise((resolve) => setTimeout(resolve, EACH));
  } while (taken === pictures && camera.isOpen);
  card.add(pictures);
  say(count, `${counted(pictures.length, "picture")} taken. Hold again for more.`);
}

const release = () => (taken = null);

export function startPhotographs() {
  shutter.addEventListener("pointerdown", (event) => {
    shutter.setPointerCapture(event.pointerId); // so that the release is heard anywhere
    hold();
  });
  for (const name of ["pointerup", "pointercancel", "blur", "keyup"]) shutter.addEventListener(name, release);
  shutter.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    hold();
  });
  shutter.addEventListener("click", (event) => {
    if (event.detail > 0 || taken) return;
    hold(); // a click without a pointer comes from a screen reader: one picture
    release();
  });
  shutter.addEventListener("contextmenu", (event) => event.preventDefault()); // a long touch opens none
  turn.addEventListener("click", () => camera.turn().catch((error) => say(count, error.message, { error: true })));
  find("camera-done").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    release();
    camera.close();
  });
}
