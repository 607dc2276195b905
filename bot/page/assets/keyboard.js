// Decide without a mouse: j k o a A d / ?

import { isQuiet } from "./guard.js";

export function keyboard(page) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, dialog")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = actions[event.key];
    if (!act) return;
    if (act(page) !== false) event.preventDefault();
  });
}

const actions = {
  j: (page) => step(page, 1),
  k: (page) => step(page, -1),
  o: (page) => toggle(current(page), ".all"),
  a: (page) => press(current(page)?.querySelector(".quick .allow"), current(page)),
  A: (page) => open(current(page), ".always", "select"),
  d: (page) => open(current(page), ".why", "input[name=note]"),
  "/": () => { location.assign("/history#find"); },
  "?": () => document.getElementById("keys").showModal(),
};

function current(page) {
  return document.activeElement?.closest("#cards > .card:not(.gone)") ?? null;
}

function step(page, by) {
  // A card that has just ended still has its place among the others.
  const all = [...page.querySelectorAll("#cards > .card")];
  let at = all.indexOf(document.activeElement?.closest("#cards > .card"));
  if (at < 0 && by < 0) at = all.length;
  do at += by; while (all[at]?.classList.contains("gone"));
  all[at]?.focus();
  all[at]?.scrollIntoView({ block: "nearest" });
}

function press(button, card) {
  if (!button || !card || isQuiet()) return;
  const typed = card.querySelector(".quick input[name=typed]");
  if (typed) typed.focus();
  else button.click();
}

function toggle(card, selector) {
  const panel = card?.querySelector(selector);
  if (panel) panel.open = !panel.open;
}

function open(card, selector, field) {
  const panel = card?.querySelector(selector);
  if (!panel) return;
  panel.open = true;
  panel.querySelector(field)?.focus();
}
