// Send an answer without leaving the page, and say what came of it.

import { add, refused, signed } from "./passkeys.js";
import { say } from "./said.js";

export function answerForms(root) {
  root.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-answer]");
    if (!form) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  root.addEventListener("toggle", (event) => {
    const panel = event.target;
    if (panel.open && panel.dataset.preview) preview(panel);
  }, true);
}

async function send(form, pressed) {
  const buttons = [...form.closest(".card, .run").querySelectorAll("button")];
  let fields = new URLSearchParams(new FormData(form, pressed));
  for (const one of buttons) one.disabled = true;
  try {
    if (wantsPasskey(form, fields)) {
      try {
        const proof = await signed(form, fields);
        if (proof) fields = add(fields, proof);
      } catch (error) {
        say(refused(error));
        for (const one of buttons) one.disabled = false;
        return;
      }
    }
    const answer = await fetch(form.action, {
      method: "POST", body: fields, headers: { Accept: "application/json" }, redirect: "error",
    });
    const said = await answer.json();
    say(said.sentence);
    if (said.done && document.querySelector("[data-follow]")) location.reload();
    if (answer.status === 401) location.reload();
    if (!said.done) for (const one of buttons) one.disabled = false;
  } catch {
    say("The gateway did not answer; it is not known whether this counted. Reload the page.");
    for (const one of buttons) one.disabled = false;
  }
}

function wantsPasskey(form, fields) {
  const typed = fields.get("typed") || fields.get("totp");
  return form.dataset.sign && fields.get("decision") !== "deny" && !typed;
}

async function preview(panel) {
  const place = panel.querySelector(".preview");
  if (place.textContent) return;
  place.textContent = "…";
  try {
    const answer = await fetch(panel.dataset.preview, { headers: { Accept: "application/json" } });
    const found = await answer.json();
    place.textContent = found.sentence ? `It ${found.sentence}.` : "No preview can be made.";
  } catch {
    place.textContent = "No preview can be made.";
  }
}
