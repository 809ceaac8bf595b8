// The state of the model on this page, and the one way to change it.

import { newKey, request } from "./service.js";

/** The answers of /v1/model/info and /v1/changes; null until they came. */
export const model = { info: null, changes: [] };

const seen = []; // called with each new state
const made = []; // called after each change that this page made, with a sentence about it

export const onState = (listener) => seen.push(listener);
export const onChange = (listener) => made.push(listener);

/** Ask for the present state and show it everywhere. */
export async function refresh() {
  const [info, changes] = await Promise.all([request("GET", "v1/model/info"), request("GET", "v1/changes?limit=10")]);
  model.info = info;
  model.changes = changes;
  for (const listener of seen) listener(model);
}

/** Change the model, then show its new state. `what` says what was done, for the chart. */
export async function change(method, path, options, what) {
  const answer = await request(method, path, { key: newKey(), ...options });
  await refresh();
  for (const listener of made) listener(typeof what === "function" ? what(answer) : what);
  return answer;
}

/** Refresh if an answer came from a newer model: somebody else taught it. */
export function noticeVersion(version) {
  if (model.info && version > model.info.version) refresh().catch(() => {}); // the next answer tries again
}

/** The class of this name as the service spells it; labels may be numbers. */
export const learnedClass = (name) => model.info?.classes.find((known) => String(known.name) === name);
