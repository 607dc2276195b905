// Say that the gateway cannot be reached when one of its pages is opened and it does not answer.
// Nothing else is kept here: what waits, and who asked, is never stored on a device.
// Show what is pushed, and answer by the buttons of a notification where it has some.

const KEPT = `sayso-${new URL(location).searchParams.get("version")}`;
const NOTE = "/offline";
const SIGN_IN = "/login/";

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((kept) => kept.add(new Request(NOTE, { cache: "reload" }))));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(
    names.filter((name) => name !== KEPT).map((name) => caches.delete(name)),
  )));
});

// A link that signs in is left to the browser: in some browsers, what a worker fetches is marked as
// not opened by a person (Sec-Fetch-Mode, Sec-Fetch-Dest), and would not bind the link.
self.addEventListener("fetch", (event) => {
  const { mode, method, url } = event.request;
  if (mode !== "navigate" || method !== "GET" || new URL(url).pathname.startsWith(SIGN_IN)) return;
  event.respondWith(fetch(event.request).catch(() => caches.match(NOTE)));
});

const ANSWERS = [{ action: "allow-once", title: "Allow once" }, { action: "deny", title: "Deny" }];
const OPEN = [{ action: "open", title: "Open" }];

self.addEventListener("push", (event) => {
  event.waitUntil(shown(event.data.json()));
});

// A later notification with the same tag takes the place of an earlier one.
function shown({ kind, tag, title, text, id, until, answer, place }) {
  const asks = kind === "prompt";
  return self.registration.showNotification(title, {
    body: text, tag, renotify: asks, requireInteraction: asks,
    timestamp: Date.now(), data: { tag, title, id, until, answer, place },
    actions: asks ? (answer ? ANSWERS : OPEN) : [],
  });
}

// Only a page that is signed in can subscribe again, so the person is asked to open it.
self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(shown({
    kind: "notice", tag: "ended", title: "Sayso", place: "/sessions",
    text: "This browser is no longer notified: it has ended its subscription. Open Sessions and press Notify me here again.",
  }));
});

self.addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  const about = notification.data;
  notification.close();
  const isAnswer = about.answer && ANSWERS.some((one) => one.action === action);
  event.waitUntil(isAnswer ? answered(about, action) : opened(about.place ?? pageOf(about.id)));
});

// A lost response says nothing about the answer: it may have counted. So what became of the
// question is looked up, and if that is not known the notification says just that.
const UNKNOWN = "The gateway cannot be reached, so your answer may not have arrived. Open the page to see.";
const PATIENCE_MS = 6_000;
const LOOKS_AFTER_MS = [0, 2_000];

async function answered({ tag, title, id, answer }, decision) {
  let text;
  try {
    text = await answerTo(answer, decision);
  } catch {
    text = await stateOf(id);
    const newer = await self.registration.getNotifications({ tag });
    if (newer.length) return; // pushed meanwhile, and it says how it ended
  }
  await shown({ kind: "outcome", tag, title, text, id });
}

function answerTo(answer, decision) {
  return sentence("/push/answer", { method: "POST", body: new URLSearchParams({ answer, decision }) });
}

async function stateOf(id) {
  for (const after of LOOKS_AFTER_MS) {
    await new Promise((done) => { setTimeout(done, after); });
    try {
      return await sentence(pageOf(id), {});
    } catch { /* it is looked at again */ }
  }
  return UNKNOWN;
}

async function sentence(path, more) {
  const said = await fetch(path, {
    ...more, headers: { Accept: "application/json" }, redirect: "error", cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const { sentence: words } = await said.json();
  if (typeof words !== "string") throw new TypeError("no sentence of the gateway");
  return words;
}

async function opened(path) {
  const pages = await self.clients.matchAll({ type: "window" });
  const there = pages.find((one) => new URL(one.url).pathname === path);
  return there ? there.focus() : self.clients.openWindow(path);
}

function pageOf(id) {
  return /^[0-9a-z]{26}$/.test(id) ? `/approve/${id}` : "/";
}
