// The dashboard's page: shows the parts that the server renders, and sends back what a person says.
"use strict";

const find = (id) => document.getElementById(id);
let chosen = decodeURIComponent(location.hash.slice(1));
let feature = "", source = null, logOf = null, drift = 0;

function say(text, isBad) {
  find("said").textContent = text;
  find("said").className = isBad ? "bad" : "";
  find("said").hidden = !text;
}

// Replaces a part; what a person types in it stays.
function draw(id, html) {
  const part = find(id), focused = document.activeElement, inside = part.contains(focused) ? focused.id : "";
  const [start, end] = inside ? [focused.selectionStart, focused.selectionEnd] : [];
  const typed = [...part.querySelectorAll("textarea")].map((one) => [one.id, one.value]);
  part.innerHTML = html;
  part.hidden = !html.trim();
  for (const [name, value] of typed) if (find(name)) find(name).value = value;
  if (inside && find(inside)) {
    find(inside).focus();
    if (start !== undefined) find(inside).setSelectionRange?.(start, end);
  }
}

async function send(act, body) {
  try {
    const answer = await fetch(`do/${act}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ feature, ...body }),
    });
    const found = await answer.json();
    say(found.ok ? found.said : [found.error.message, found.error.hint].filter(Boolean).join(". "), !found.ok);
  } catch (error) {
    say(`Ralphy cannot be reached: ${error.message}`, true);
  }
}

function confirmed(question) {
  find("ask-text").textContent = question;
  find("ask").returnValue = "no";
  find("ask").showModal();
  return new Promise((done) => {
    find("ask").addEventListener("close", () => done(find("ask").returnValue === "yes"), { once: true });
  });
}

// Shows a text in a section of its own, which no news replaces.
function show(id, title, text) {
  const isAtEnd = !find(`${id}-text`) || find(`${id}-text`).scrollTop + find(`${id}-text`).clientHeight + 40 > find(`${id}-text`).scrollHeight;
  find(id).innerHTML = `<div class="row"><h3></h3><button type="button" class="plain" data-do="close" data-name="${id}">close</button></div><pre id="${id}-text" tabindex="0"></pre>`;
  find(id).querySelector("h3").textContent = title;
  find(`${id}-text`).textContent = text;
  find(id).hidden = false;
  if (id === "log" && isAtEnd) find("log-text").scrollTop = find("log-text").scrollHeight;
}

async function readDocument(name) {
  const answer = await fetch(`document?${new URLSearchParams({ feature, name })}`);
  show("document", name, (await answer.text()) || "nothing to show");
  find("document-text").focus();
}

async function readLog() {
  const answer = await fetch(`log?${new URLSearchParams({ feature, story: logOf })}`);
  show("log", `Log of ${logOf || feature}`, answer.ok ? (await answer.text()) || "no lines yet" : "no saved run");
}

function close(id) {
  if (id === "log") logOf = null;
  find(id).replaceChildren();
  find(id).hidden = true;
}

const ACTS = {
  choose: (button) => { location.hash = encodeURIComponent(button.dataset.feature); },
  stop: async () => { if (await confirmed("Stop Ralphy in this checkout? Agents end at once; nothing is lost, and the next start goes on.")) send("abort", {}); },
  read: (button) => readDocument(button.dataset.name),
  log: async (button) => { logOf = button.dataset.story; await readLog(); find("log-text").focus(); },
  close: (button) => close(button.dataset.name),
  approve: (button) => send("approve", { seen: button.dataset.seen }),
  reject: (button) => send("reject", { seen: button.dataset.seen, text: find("remarks").value }),
  answer: (button) => send("answer", { key: button.dataset.key, text: find(`answer-${button.dataset.key}`).value }),
};

function connect() {
  source?.close();
  source = new EventSource(`events?${new URLSearchParams({ feature: chosen })}`);
  source.onmessage = (event) => {
    const news = JSON.parse(event.data);
    feature = news.feature;
    drift = news.at - Date.now() / 1000;
    document.title = news.title;
    for (const [id, html] of Object.entries(news.parts)) draw(id, html);
    if (logOf !== null) readLog();
    tick();
  };
  source.onopen = () => { find("link").textContent = "Connected."; find("link").className = "faint"; };
  source.onerror = () => { find("link").textContent = "No connection to Ralphy's dashboard. Trying again …"; find("link").className = "lost"; };
}

function tick() {
  for (const one of document.querySelectorAll("[data-since]")) {
    const seconds = Math.max(0, Math.floor(Date.now() / 1000 + drift - Number(one.dataset.since)));
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60], two = (n) => String(n).padStart(2, "0");
    one.textContent = hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
  }
}

addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) ACTS[button.dataset.do](button);
});
addEventListener("hashchange", () => {
  chosen = decodeURIComponent(location.hash.slice(1));
  close("log");
  close("document");
  say("");
  connect();
});
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(TEXTAREA|INPUT)$/.test(event.target.tagName) || find("ask").open) return;
  const wanted = event.key === "a" ? find("approve") : event.key === "r" ? find("remarks") : null;
  if (wanted) {
    wanted.focus();
    event.preventDefault();
  }
  if (event.key === "l") {
    if (logOf === null) { logOf = ""; readLog(); } else close("log");
  }
  if (/^[1-9]$/.test(event.key)) document.querySelectorAll("#inbox button")[Number(event.key) - 1]?.click();
});
setInterval(tick, 1000);
connect();
