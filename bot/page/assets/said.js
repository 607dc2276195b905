// Say something to everybody who looks or listens.

let timer = 0;

export function say(words) {
  const place = document.getElementById("said");
  place.textContent = words;
  clearTimeout(timer);
  timer = setTimeout(() => { place.textContent = ""; }, 8000);
}
