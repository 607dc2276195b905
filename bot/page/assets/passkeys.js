// Create passkeys and have them sign: to sign in, and to allow something that needs a step-up.

import { say } from "./said.js";

export function passkeyForms(root) {
  root.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-passkey]");
    if (!form) return;
    event.preventDefault();
    use(form);
  });
}

// Fields to send with the answer: what a passkey signed, or null if the person has none.
export async function signed(form, fields) {
  const drawn = await post(form.dataset.sign, fields);
  if (!drawn.options) return null;
  return { nonce: drawn.nonce, credential: await sign(drawn.options) };
}

async function use(form) {
  const button = form.querySelector("button");
  const fields = new URLSearchParams(new FormData(form));
  button.disabled = true;
  try {
    const registers = form.dataset.passkey === "register";
    const drawn = await post(`${form.action}/new`, fields);
    if (!drawn.options) { say(drawn.sentence); return; }
    const credential = registers ? await make(drawn.options) : await sign(drawn.options);
    const said = await post(form.action, add(fields, { nonce: drawn.nonce, credential }));
    say(said.sentence);
    if (said.done) location.reload();
  } catch (error) {
    say(refused(error));
  } finally {
    button.disabled = false;
  }
}

export function refused(error) {
  if (error.name === "NotAllowedError") return "Nothing was signed.";
  if (error.name === "SecurityError") return "Passkeys work at the page's own name only: open it by that, or by localhost.";
  return `The passkey cannot be used here (${error.name}).`;
}

export function add(fields, more) {
  const made = new URLSearchParams(fields);
  for (const [name, value] of Object.entries(more)) made.set(name, value);
  return made;
}

export async function post(path, fields) {
  const answer = await fetch(path, {
    method: "POST", body: fields, headers: { Accept: "application/json" }, redirect: "error",
  });
  return answer.json();
}

async function sign(options) {
  const known = options.allowCredentials.map((one) => ({ ...one, id: bytes(one.id) }));
  const publicKey = { ...options, challenge: bytes(options.challenge), allowCredentials: known };
  const made = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature } = made.response;
  return written(made, { clientDataJSON, authenticatorData, signature });
}

async function make(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: options.excludeCredentials.map((one) => ({ ...one, id: bytes(one.id) })),
  };
  const made = await navigator.credentials.create({ publicKey });
  const { clientDataJSON, attestationObject } = made.response;
  return written(made, { clientDataJSON, attestationObject });
}

function written(made, parts) {
  const response = {};
  for (const [name, value] of Object.entries(parts)) response[name] = text(value);
  return JSON.stringify({ id: made.id, rawId: text(made.rawId), type: made.type, response });
}

export function bytes(words) {
  const plain = atob(words.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (one) => one.charCodeAt(0));
}

export function text(buffer) {
  const plain = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
