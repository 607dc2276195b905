// Say that the gateway cannot be reached, where a page of it is opened and it does not answer.
// Nothing else is kept here: what waits, and who asked, is never stored on a device.

const KEPT = `sayso-${new URL(location).searchParams.get("version")}`;
const NOTE = "/offline";

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((kept) => kept.add(new Request(NOTE, { cache: "reload" }))));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(
    names.filter((name) => name !== KEPT).map((name) => caches.delete(name)),
  )));
});

self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate" || event.request.method !== "GET") return;
  event.respondWith(fetch(event.request).catch(() => caches.match(NOTE)));
});
