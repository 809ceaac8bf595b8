// What the model still knows: pictures that are set aside and never learned, and how many of them are answered right
// after each step.
//
// The pictures are in the memory of this tab alone. The counts are in localStorage, by the name of the model.

import { learnedClass, model } from "./model.js";
import { request } from "./service.js";

const EVERY = 5; // the fifth picture of a class is set aside, and the tenth, and so on
const MOST = 10; // pictures of a class; more would make each step slower
const GROUP = 25; // pictures of one request
const STEPS = 60; // steps that are remembered
const COLOURS = 8;

const aside = new Map(); // class → pictures that are set aside
const added = new Map(); // class → number of pictures that were added in this tab
const marks = new Set(); // what is set aside, by content: the same file may be added again

/** The counts of this model: `steps` of `{version, what, counts: {class: [right, all]}}`. */
let record = { steps: [] };
let loaded = null; // the name of the model whose record this is

export const steps = () => record.steps;

/** An object for values by the names of classes. It has no prototype: a class may be called “constructor”. */
function byName(values = {}) {
  return Object.assign(Object.create(null), values);
}

/** Load the counts of the model when its name is known. */
export function load() {
  const { name, version } = model.info;
  if (loaded === name) return;
  loaded = name;
  try {
    const known = JSON.parse(localStorage.getItem(stored())) ?? record;
    record = { steps: known.steps.map((step) => ({ ...step, counts: byName(step.counts) })) };
  } catch {
    // A record that cannot be read begins again.
  }
  if (record.steps.at(-1)?.version > version) record.steps = []; // another model had this name
}

const stored = () => `if2net-counts:${loaded}`;

function save() {
  record.steps = record.steps.slice(-STEPS);
  try {
    localStorage.setItem(stored(), JSON.stringify(record));
  } catch {
    // Without storage the chart lasts until the page is closed.
  }
}

/** The number of the colour of a class, from 1 to COLOURS. It comes from the model, so all browsers show the same one. */
export function colourOf(name) {
  const column = learnedClass(name)?.column ?? model.info.classes.length; // a new class will have the next column
  return (column % COLOURS) + 1;
}

/** Decide about a picture that is added to a class: true if it is set aside and must not be learned. */
export async function setAside(name, blob) {
  const mark = await fingerprint(blob);
  if (marks.has(mark)) return true;
  const count = (added.get(name) ?? 0) + 1;
  added.set(name, count);
  const pictures = aside.get(name) ?? [];
  if (count % EVERY !== 0 || pictures.length >= MOST) return false;
  marks.add(mark);
  aside.set(name, [...pictures, blob]);
  return true;
}

/** FNV-1a of the content. crypto.subtle would do, but pages over plain http do not have it. */
async function fingerprint(blob) {
  let hash = 0x811c9dc5;
  for (const byte of new Uint8Array(await blob.arrayBuffer())) hash = Math.imul(hash ^ byte, 0x01000193);
  return `${blob.size}:${hash >>> 0}`;
}

/** The number of pictures that are set aside now. */
export const asideCount = () => [...aside.values()].reduce((sum, pictures) => sum + pictures.length, 0);

export function renamed(old, name) {
  for (const map of [aside, added]) {
    if (map.has(old)) map.set(name, map.get(old));
    map.delete(old);
  }
  const rename = (object) => {
    if (old in object) object[name] = object[old];
    delete object[old];
  };
  for (const step of record.steps) rename(step.counts);
  save();
}

export function forgotten(name) {
  aside.delete(name);
  added.delete(name);
}

let waiting = null; // what the next measurement is about; a newer one replaces an older one
let running = false;

/** Ask for all pictures that are set aside, count the right answers and add a step. `done` is called after each. */
export async function measure(what, done) {
  waiting = what;
  if (running) return;
  running = true;
  try {
    while (waiting !== null) {
      const about = waiting;
      waiting = null;
      const step = await counted(about);
      if (step === null) continue; // the model changed meanwhile, or nothing is set aside
      record.steps.push(step);
      save();
      done();
    }
  } finally {
    running = false;
  }
}

async function counted(what) {
  const known = [...aside].filter(([name]) => learnedClass(name)); // a class that could not be learned has no share yet
  const questions = known.flatMap(([name, pictures]) => pictures.map((blob) => ({ name, blob })));
  const counts = byName();
  let version = model.info.version;
  for (let start = 0; start < questions.length; start += GROUP) {
    if (waiting !== null) return null;
    const group = questions.slice(start, start + GROUP);
    const form = new FormData();
    for (const { blob } of group) form.append("files", blob, "picture");
    form.append("top", "1");
    const answer = await request("POST", "v1/predict", { form });
    version = answer.version;
    answer.predictions.forEach((prediction, index) => {
      const count = (counts[group[index].name] ??= [0, 0]);
      count[0] += String(prediction.label) === group[index].name ? 1 : 0;
      count[1] += 1;
    });
  }
  return questions.length ? { version, what, counts } : null;
}
