// Follow a backtest, and show what it found as soon as it has ended.

export async function progress(place) {
  const bar = place.querySelector("progress");
  for (;;) {
    await new Promise((after) => { setTimeout(after, 300); });
    const answer = await fetch(place.dataset.progress, { headers: { Accept: "application/json" } }).catch(() => null);
    if (answer === null) continue;
    if (!answer.ok) return location.reload();
    const { ended, looked, total } = await answer.json();
    if (ended) return location.reload();
    if (total) { bar.max = total; bar.value = looked; }
    place.querySelector(".looked").textContent = looked;
  }
}
