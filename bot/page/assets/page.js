// What every page does with JavaScript; without it each form and link works all the same.

import { follow, followOne } from "./live.js";
import { keyboard } from "./keyboard.js";
import { guard } from "./guard.js";
import { answerForms } from "./answer.js";
import { passkeyForms } from "./passkeys.js";
import { forgetPush, pushForms } from "./push.js";
import { countDown } from "./countdown.js";
import { progress } from "./progress.js";

document.documentElement.classList.add("js");
if (document.querySelector("link[rel=manifest]")) {
  navigator.serviceWorker?.register(`/worker.js?version=${document.documentElement.dataset.version}`).catch(() => {});
}
guard(document);
answerForms(document);
passkeyForms(document);
pushForms(document);
countDown(document);
const now = document.querySelector("[data-live]");
if (now) {
  follow(now);
  keyboard(now);
}
const one = document.querySelector("[data-follow]");
if (one) followOne(one);
const under = document.querySelector("[data-progress]");
if (under) progress(under);
if (document.querySelector("[data-signed-out]")) forgetPush().catch(() => {});
if (location.hash === "#find") document.querySelector("#search input")?.focus();
