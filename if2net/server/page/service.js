// The service over HTTP: the token, retries that never count twice, errors as sentences.

import { find } from "./elements.js";

const PATIENCE = 120_000; // milliseconds for which a request is repeated while the service is away or busy
const STORED_TOKEN = "if2net-token";

class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Take the token out of the address, so that it is neither bookmarked nor shared with the page. */
export function takeTokenFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  if (/^[ -~]+$/.test(given)) sessionStorage.setItem(STORED_TOKEN, given); // headers hold no other characters
  history.replaceState(null, "", location.pathname + location.search);
}

/** A name for one change. crypto.randomUUID would do, but pages over plain http do not have it. */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Send a request and return the answer's JSON, or the response itself with `raw`.
 *
 * While the service is away or busy the request is repeated with the same key, unless `once` is set. A change that
 * has arrived already is then answered again and not made twice. A missing or wrong token is asked for.
 */
export async function request(method, path, { json, form, text, key, once = false, raw = false } = {}) {
  const headers = key ? { "Idempotency-Key": key } : {};
  let body;
  if (json !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(json);
  } else if (text !== undefined) {
    headers["Content-Type"] = "text/csv";
    body = text;
  } else if (form) {
    // A form is written down once: fetch would choose another boundary for each attempt, and the bodies of a retry
    // must be equal.
    const written = new Response(form);
    headers["Content-Type"] = written.headers.get("Content-Type");
    body = await written.arrayBuffer();
  }
  const start = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    const token = sessionStorage.getItem(STORED_TOKEN);
    if (token) headers.Authorization = `Bearer ${token}`;
    const response = await fetch(path, { method, headers, body, cache: "no-store" }).catch(() => null);
    if (response?.ok) {
      away(null);
      return raw ? response : await response.json();
    }
    const busy = response === null || response.status === 429 || response.status === 503;
    if (busy && !once && performance.now() - start < PATIENCE) {
      if (response?.status !== 429) away(response ? await sentence(response) : "The server does not answer.");
      await pause(Number(response?.headers.get("Retry-After")) * 1000 || Math.min(500 * 2 ** attempt, 10_000));
      continue;
    }
    if (response === null) throw new ServiceError("The server does not answer. Check that it is running, then try again.", 0);
    away(null);
    const error = new ServiceError(await sentence(response), response.status);
    if (once || ![401, 403].includes(response.status)) throw error; // 401: no token, 403: a wrong one
    await askForToken(error, token);
  }
}

async function sentence(response) {
  const answer = await response.json().catch(() => null);
  return answer?.error ?? `The server answered with the status ${response.status}. Try again later.`;
}

function pause(milliseconds) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
  });
}

/** Say at the top of the page that the service is away; null: it is back. */
function away(reason) {
  find("banner").hidden = reason === null;
  if (reason !== null) find("banner").textContent = `${reason} The page tries again by itself. Nothing is lost, and nothing counts twice.`;
}

let asking = null;

/** Ask for a token, once for all requests that wait for it. */
function askForToken(error, refused) {
  if (refused !== sessionStorage.getItem(STORED_TOKEN)) return Promise.resolve(); // another request got a new one
  asking ??= new Promise((resolve, reject) => {
    const dialog = find("token-dialog");
    const form = find("token-form");
    find("token-reason").textContent = refused ? error.message : "This server asks for a token.";
    find("token-field").value = "";
    form.onsubmit = () => {
      sessionStorage.setItem(STORED_TOKEN, find("token-field").value.trim());
      resolve();
    };
    dialog.onclose = () => {
      asking = null;
      reject(error); // does nothing after a token was given
    };
    form.querySelector("[data-close]").onclick = () => dialog.close();
    dialog.showModal();
  });
  return asking;
}
