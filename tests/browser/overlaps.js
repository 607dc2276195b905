// Return what a person could not read or press on the control page.
(() => {
  const faults = [];
  const named = (one) => JSON.stringify((one.ariaLabel || one.innerText || one.name || one.tagName || "").trim().slice(0, 60));
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push("the page is wider than its window");
  const shown = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  // Text that is cut off: where its box hides what does not fit, and has no way to scroll to it.
  for (const one of document.querySelectorAll("body *")) {
    if (!shown(one) || !one.clientWidth) continue;
    const style = getComputedStyle(one);
    if (style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none") continue;
    const wide = ["hidden", "clip"].includes(style.overflowX) && one.scrollWidth > one.clientWidth + 1;
    const tall = ["hidden", "clip"].includes(style.overflowY) && one.scrollHeight > one.clientHeight + 1;
    if (wide || tall) faults.push(`clipped: ${named(one)}`);
  }

  // Words that leave the window or the card that they are in.
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode, parent = node.parentElement;
    if (!node.data.trim() || !shown(parent) || parent.closest(".skip, script, style, noscript, option, select")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const frame = (parent.closest(".card, .row, fieldset, pre") ?? document.body).getBoundingClientRect();
    const scrolls = parent.closest(".tail, .backtest, pre, .scroll");
    for (const box of range.getClientRects()) {
      if (!box.width || scrolls) continue;
      if (box.left < frame.left - 1 || box.right > frame.right + 1) faults.push(`outside its box: ${named(parent)}`);
    }
  }

  // What scrolls sideways and shows neither a bar nor an edge: nobody looks for the rest.
  for (const one of document.querySelectorAll("nav")) {
    if (shown(one) && one.scrollWidth > one.clientWidth + 1) faults.push(`nobody sees that it scrolls: ${named(one)}`);
  }

  // Things to press that lie on one another.
  const pressed = [...document.querySelectorAll("a[href], button, summary, input:not([type=hidden]), select, textarea")]
    .filter((one) => shown(one) && !one.closest(".skip"));
  const boxes = pressed.map((one) => [one, one.getBoundingClientRect()]);
  for (let a = 0; a < boxes.length; a += 1) {
    for (let b = a + 1; b < boxes.length; b += 1) {
      const [one, left] = boxes[a], [two, right] = boxes[b];
      if (one.contains(two) || two.contains(one) || one.closest(".top") !== two.closest(".top")) continue;
      const across = Math.min(left.right, right.right) - Math.max(left.left, right.left);
      const down = Math.min(left.bottom, right.bottom) - Math.max(left.top, right.top);
      if (across > 1 && down > 1) faults.push(`${named(one)} lies on ${named(two)}`);
    }
  }
  // Things to press that touch a heading; a finger would not know which is meant.
  for (const head of document.querySelectorAll("h1, h2, h3")) {
    if (!shown(head)) continue;
    const text = head.getBoundingClientRect();
    for (const [one, box] of boxes) {
      if (head.contains(one) || one.contains(head) || one.closest(".top")) continue;
      const across = Math.min(box.right, text.right) - Math.max(box.left, text.left);
      const gap = Math.max(box.top - text.bottom, text.top - box.bottom);
      if (across > 1 && gap < 4) faults.push(`${named(one)} touches ${named(head)}`);
    }
  }
  return [...new Set(faults)];
})()
