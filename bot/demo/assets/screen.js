// Show the chats as the demo streams them, and send what is pressed and typed there.

const logs = new Map(
  [...document.querySelectorAll(".messages")].map((one) => [one.dataset.place, one]),
);

function show(place, html) {
  const log = logs.get(place);
  const open = [...log.querySelectorAll("details[open]")]
    .map((one) => one.closest("[data-approval]").dataset.approval);
  log.innerHTML = html; // made by the demo, which escapes every value
  for (const id of open) {
    log.querySelector(`[data-approval="${id}"] details`)?.setAttribute("open", "");
  }
  log.scrollTop = log.scrollHeight;
}

async function act(fields) {
  await fetch("act", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
}

const stream = new EventSource("live");
stream.addEventListener("chats", (event) => {
  document.getElementById("over").hidden = true;
  for (const [place, html] of Object.entries(JSON.parse(event.data))) show(place, html);
});
stream.addEventListener("error", () => {
  document.getElementById("over").hidden = false;
});

for (const [place, log] of logs) {
  log.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button === null) return;
    for (const one of button.parentElement.children) one.disabled = true;
    const { message, code, reply, choice } = button.dataset;
    act(reply ? { place, message, code, reply } : { place, choice });
  });
}
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = form.elements.text.value.trim();
    form.elements.text.value = "";
    if (text) act({ place: form.dataset.place, text });
  });
}
