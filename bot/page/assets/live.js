// Keep the start page up to date: cards appear, change and end by server-sent events.

import { setClock, tick } from "./countdown.js";
import { moved } from "./guard.js";
import { say } from "./said.js";

const SHOWN_MS = 4000;

export function follow(page) {
  const cards = page.querySelector("#cards");
  const seen = [...cards.children].map((card) => `${card.dataset.id}.${card.dataset.rev}`);
  const stream = new EventSource(`${page.dataset.live}?after=${page.dataset.after}&seen=${seen.join(",")}`);
  stream.addEventListener("now", (event) => apply(page, cards, JSON.parse(event.data)));
  stream.addEventListener("signed-out", () => { stream.close(); location.reload(); });
  stream.addEventListener("open", () => page.classList.remove("offline"));
  stream.addEventListener("error", () => {
    page.classList.add("offline");
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  });
}

// The page of one approval shows its end as soon as there is one, wherever it was decided.
export function followOne(page) {
  if (page.dataset.state !== "pending") return;
  const stream = new EventSource(`/live?follow=${page.dataset.follow}`);
  stream.addEventListener("now", (event) => {
    const { ended, now } = JSON.parse(event.data);
    setClock(now);
    if (ended) { stream.close(); location.reload(); }
  });
  stream.addEventListener("signed-out", () => { stream.close(); location.reload(); });
}

function apply(page, cards, event) {
  setClock(event.now);
  for (const [id, words] of Object.entries(event.gone)) end(cards, id, words);
  for (const id of event.order) if (event.cards[id]) put(cards, id, event.cards[id], event.order);
  text(page, "#total", event.total);
  text(page, "#more-count", event.more);
  page.querySelector("#next").href = `/?after=${event.order.at(-1) ?? ""}`;
  page.querySelector("#more").hidden = event.more === 0;
  page.querySelector("#none").hidden = cards.children.length > 0;
  document.title = `${event.total ? `(${event.total}) ` : ""}Now · Sayso`;
  if (event.health !== undefined) health(page.querySelector("#health"), event.health);
  if (event.plans !== undefined && page.querySelector("#plans").innerHTML.trim() !== event.plans.trim()) {
    moved();
    replace(page.querySelector("#plans"), event.plans);
  }
  if (event.running !== undefined) running(page.querySelector("#running"), event.running);
  tick(page);
}

function put(cards, id, html, order) {
  const made = parsed(html);
  const old = document.getElementById(`c-${id}`);
  moved();
  if (old) {
    keep(old, made);
    old.replaceWith(made);
    return;
  }
  const later = order.slice(order.indexOf(id) + 1).map((one) => document.getElementById(`c-${one}`));
  cards.insertBefore(made, later.find((one) => one) ?? null);
  say(`${made.querySelector("h2").textContent.trim()}: ${made.querySelector(".command").textContent.slice(0, 120)}`);
}

// What somebody was typing or reading stays as it was.
function keep(old, made) {
  const was = [...old.querySelectorAll("details")];
  made.querySelectorAll("details").forEach((one, at) => { one.open = was[at]?.open ?? one.open; });
  for (const field of old.querySelectorAll("input:not([type=hidden]), select")) {
    const same = made.querySelector(`[name="${field.name}"]`);
    if (same) same.value = field.value;
  }
}

// The place of a card that ended stays as high for a while, so that nothing moves under a finger.
function end(cards, id, words) {
  const card = document.getElementById(`c-${id}`);
  if (!card) return;
  const height = card.offsetHeight;
  const focused = card.contains(document.activeElement);
  card.removeAttribute("data-deadline");
  card.classList.add("gone");
  card.style.minHeight = `${height}px`;
  replace(card, words || "<p class=\"ended\">Moved further down.</p>");
  if (focused) card.focus();
  setTimeout(() => {
    const next = card.nextElementSibling ?? card.previousElementSibling;
    const had = card.contains(document.activeElement) || document.activeElement === card;
    moved();
    card.remove();
    if (had && next) next.focus();
    const page = cards.closest("[data-live]");
    page.querySelector("#none").hidden = cards.children.length > 0;
  }, SHOWN_MS);
}

// What it says is above the cards, so a line more moves them.
function health(place, html) {
  const height = place.offsetHeight;
  replace(place, html);
  if (place.offsetHeight !== height) moved();
}

function running(place, html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  const ids = (root) => [...root.querySelectorAll("[data-run]")].map((one) => one.dataset.run).join();
  const tails = [...made.content.querySelectorAll(".tail")].map((one) => one.textContent);
  if (tails.length && ids(place) === ids(made.content)) {
    // The buttons stay where they are, and whatever has the focus keeps it.
    place.querySelectorAll(".tail").forEach((one, at) => print(one, tails[at]));
    return;
  }
  moved();
  place.replaceChildren(made.content);
  place.querySelectorAll(".tail").forEach((one) => { one.scrollTop = one.scrollHeight; });
}

function print(place, words) {
  if (place.textContent === words) return;
  const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 8;
  place.firstElementChild.textContent = words;
  if (atEnd) place.scrollTop = place.scrollHeight;
}

function parsed(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content.firstElementChild;
}

function replace(place, html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  place.replaceChildren(holder.content);
}

function text(page, selector, value) {
  page.querySelector(selector).textContent = value;
}
