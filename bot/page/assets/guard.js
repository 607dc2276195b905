// Swallow a press that would hit a card which moved under the finger: 300 ms after each change.

const QUIET_MS = 300;
let until = 0;

export function moved() {
  until = performance.now() + QUIET_MS;
}

export function isQuiet() {
  return performance.now() < until;
}

export function guard(root) {
  // A press counts only if it also began after the change, on the same button.
  let began = null;
  root.addEventListener("pointerdown", (event) => {
    began = isQuiet() ? null : event.target.closest("button, summary");
  }, true);
  root.addEventListener("click", (event) => {
    const pressed = event.target.closest(".card button, .card summary, .run button");
    if (!pressed) return;
    const byPointer = event.detail > 0;
    if (isQuiet() || (byPointer && began !== pressed)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);
}
