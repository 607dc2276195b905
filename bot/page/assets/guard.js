// Swallow a press that would hit a card which moved under the finger: 300 ms after each change.

const QUIET_MS = 300;
let until = 0;

// A change counts from when it can be seen, which on a busy device is later than when it was made.
export function moved() {
  until = performance.now() + QUIET_MS;
  requestAnimationFrame((painted) => { until = Math.max(until, painted + QUIET_MS); });
}

export function isQuiet() {
  return performance.now() < until;
}

export function guard(root) {
  // A press counts only if it also began after the change, on the same button. What counts is when
  // the finger was there: a busy page gets the event later, with the cards already moved.
  let began = null;
  root.addEventListener("pointerdown", (event) => {
    began = event.timeStamp < until ? null : event.target.closest("button, summary");
  }, true);
  root.addEventListener("click", (event) => {
    const pressed = event.target.closest(".card button, .card summary, .run button");
    if (!pressed) return;
    const byPointer = event.detail > 0;
    if (event.timeStamp < until || (byPointer && began !== pressed)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);
}
