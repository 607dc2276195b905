// Return what a person could not read on the page, and the words, size and buttons of each card.
(() => {
  const faults = [...document.querySelectorAll(".unknown")].map((mark) => mark.innerText);
  const named = (text) => JSON.stringify(text.trim().slice(0, 60));
  const inside = (box, frame) =>
    box.left >= frame.left - 0.5 && box.right <= frame.right + 0.5 &&
    box.top >= frame.top - 0.5 && box.bottom <= frame.bottom + 0.5;

  const look = (node, frame) => {
    const parent = node.parentElement;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width && box.height);
    const seen = parent.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!boxes.length || !seen) faults.push(`not visible: ${named(node.data)}`);
    for (const box of boxes) {
      if (!inside(box, frame)) faults.push(`outside its card: ${named(node.data)}`);
      const top = document.elementFromPoint(
        (box.left + box.right) / 2, (box.top + box.bottom) / 2);
      if (!parent.contains(top)) faults.push(`covered: ${named(node.data)}`);
    }
  };

  const cards = {};
  for (const card of document.querySelectorAll(".card")) {
    const frame = card.getBoundingClientRect();
    const texts = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) if (texts.currentNode.data.trim()) look(texts.currentNode, frame);
    for (const one of [card, ...card.querySelectorAll("*")]) {
      const wide = one.clientWidth && one.scrollWidth > one.clientWidth;
      const tall = one.clientHeight && one.scrollHeight > one.clientHeight;
      if (wide || tall) faults.push(`clipped: ${named(one.innerText)}`);
    }
    cards[card.classList[1]] = {
      words: card.innerText,
      width: frame.width,
      height: frame.height,
      buttons: [...card.querySelectorAll("button")].map((button) => button.innerText),
    };
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push("the page is wider than its window");
  return { faults, cards };
})()
