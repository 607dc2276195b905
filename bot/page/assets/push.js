// Turn on notifications in this browser at the person's press; no permission is asked for before.

import { say } from "./said.js";
import { add, bytes, post, text } from "./passkeys.js";

// How long the message can be read before the list is shown again.
const READ_MS = 3000;

export function pushForms(root) {
  root.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-push]");
    if (!form) return;
    event.preventDefault();
    subscribe(form);
  });
}

// Whoever uses this browser from now on sees nothing of the person who was signed in: neither what
// was shown before nor what would come.
export async function forgetPush() {
  const worker = await navigator.serviceWorker?.getRegistration();
  if (!worker) return;
  for (const one of await worker.getNotifications()) one.close();
  const kept = await worker.pushManager?.getSubscription();
  await kept?.unsubscribe();
}

async function subscribe(form) {
  const button = form.querySelector("button");
  const fields = new URLSearchParams(new FormData(form));
  button.disabled = true;
  try {
    const why = await refused();
    if (why) { say(why); return; }
    const { key, sentence } = await post(`${form.action}/new`, fields);
    if (!key) { say(sentence); return; }
    const made = await subscription(bytes(key));
    const { endpoint, keys } = made.toJSON();
    const said = await post(form.action, add(fields, { endpoint, ...keys }));
    if (said.done) setTimeout(() => location.reload(), READ_MS);
    else await made.unsubscribe();
    say(said.sentence);
  } catch (error) {
    say(`This browser cannot be notified (${error.name}).`);
  } finally {
    button.disabled = false;
  }
}

async function refused() {
  if (!navigator.serviceWorker || !("PushManager" in window)) {
    return "This browser takes no push here. On an iPhone or iPad, add the page to the home screen and open it there.";
  }
  if (await Notification.requestPermission() === "granted") return "";
  return "Notifications are blocked for this page. Allow them in the browser's settings.";
}

// A subscription made with another key belongs to another gateway, or to an earlier one.
async function subscription(key) {
  const { pushManager } = await navigator.serviceWorker.ready;
  const earlier = await pushManager.getSubscription();
  if (earlier) {
    if (text(earlier.options.applicationServerKey) === text(key)) return earlier;
    await earlier.unsubscribe();
  }
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}
