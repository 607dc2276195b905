// Count each card down by the gateway's clock, not by this device's.

let ahead = 0;

export function setClock(gatewayMs) {
  ahead = gatewayMs - Date.now();
}

export function countDown(root) {
  const page = root.querySelector("[data-now]");
  if (page) setClock(Number(page.dataset.now));
  tick(root);
  setInterval(() => tick(root), 1000);
}

export function tick(root) {
  for (const card of root.querySelectorAll(".card[data-deadline]")) {
    const left = Number(card.dataset.deadline) - Date.now() - ahead;
    card.querySelector(".left").textContent = words(left);
    card.classList.toggle("soon", left < 60_000);
    const share = Math.max(0, Math.min(1, left / Number(card.dataset.within)));
    card.querySelector(".bar i").style.transform = `scaleX(${share})`;
  }
}

function words(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
}
