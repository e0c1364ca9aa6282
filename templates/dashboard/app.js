// The dashboard's page: draws the board that the server sends, and sends back what a person says. Text is set as text only.
"use strict";

const WORDS = { completed: "✓ completed", failed: "✗ failed", blocked: "– blocked", in_progress: "… in progress", pending: "· pending" };
const TONES = { completed: "good", failed: "bad", blocked: "waiting", in_progress: "strong", pending: "faint" };
const SECTIONS = { needs_you: "Needs you", working: "Working", ready: "Ready", waiting: "Waiting", done: "Done" };
const KINDS = { good: "landed or done", bad: "did not count", cut: "cut off, costs no attempt", working: "goes on" };
const find = (id) => document.getElementById(id);
const drawn = new Map();
let board = null, chosen = decodeURIComponent(location.hash.slice(1)), source = null, logOf = null, logDue = 0, drift = 0;

function tag(name, attributes = {}, ...inside) {
  const made = name.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") made.addEventListener("click", value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...inside.flat().filter((one) => one != null && one !== ""));
  return made;
}

// Draws a section only if what it is made of has changed: what a person types or reads there stays.
function draw(id, facts, make) {
  const key = JSON.stringify(facts);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  const made = make();
  find(id).replaceChildren(...(Array.isArray(made) ? made : [made]).filter(Boolean));
  find(id).hidden = !find(id).childNodes.length;
}

const money = (usd) => `$${(usd || 0).toFixed(2)}`;
const short = (n) => n >= 1e6 ? `${(n / 1e6).toFixed(1)}M` : n >= 1e3 ? `${(n / 1e3).toFixed(1)}k` : `${n}`;
const clock = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const now = () => Date.now() / 1000 + drift;
function span(seconds) {
  const minutes = Math.max(0, Math.round(seconds / 60));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
function ticking(seconds) {
  const whole = Math.max(0, Math.floor(seconds)), two = (n) => String(n).padStart(2, "0");
  return whole < 3600 ? `${Math.floor(whole / 60)}:${two(whole % 60)}` : `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

function say(text, isBad) {
  find("said").textContent = text;
  find("said").className = isBad ? "bad" : "";
  find("said").hidden = !text;
}

async function send(act, body) {
  try {
    const answer = await fetch(`do/${act}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ feature: board.feature, ...body }) });
    const said = await answer.json();
    say(said.ok ? said.said : [said.error.message, said.error.hint].filter(Boolean).join(". "), !said.ok);
    return said.ok;
  } catch (error) {
    say(`Ralphy cannot be reached: ${error.message}`, true);
    return false;
  }
}

function confirmed(question) {
  find("ask-text").textContent = question;
  find("ask").returnValue = "no";
  find("ask").showModal();
  return new Promise((done) => find("ask").addEventListener("close", () => done(find("ask").returnValue === "yes"), { once: true }));
}

function inbox() {
  draw("inbox", [board.features, board.feature], () => {
    let section = "", number = 0;
    return board.features.flatMap((row) => {
      number += 1;
      const head = row.section === section ? [] : [tag("li", { role: "presentation" }, tag("h2", {}, SECTIONS[section = row.section]))];
      const of = row.tasks_total ? ` ${row.tasks_completed}/${row.tasks_total}` : "";
      return [...head, tag("li", { class: row.section }, tag("button", { type: "button", "data-number": number, "aria-current": row.feature === board.feature && "page", on: () => choose(row.feature) },
        tag("span", {}, row.feature, tag("span", { class: "faint" }, of)), tag("small", {}, brief(row.next || ""))))];
    });
  });
}

const brief = (text) => text.length > 70 ? `${text.slice(0, 69)}…` : text;

function head(v) {
  draw("head", [v.feature, v.phase, v.next, v.error, v.running, v.tasks_completed, v.tasks_total], () => {
    if (!board.feature && !v.error) return tag("p", {}, "No feature yet: write docs/features/<name>/PRD.md, or ", tag("code", {}, 'ralphy start "what you want"'));
    if (v.error) return [tag("h2", {}, board.feature || "Ralphy"), tag("p", { class: "bad" }, v.error.message), v.error.hint && tag("p", {}, tag("code", {}, v.error.hint))];
    const abort = v.running && tag("button", { type: "button", class: "bad", on: stop }, "Stop Ralphy …");
    const running = v.running ? `Ralphy is running (pid ${v.running.pid}, ${v.running.purpose}).` : "Ralphy is not running here.";
    return [tag("h2", {}, `${v.feature}: ${v.tasks_completed} of ${v.tasks_total} stories completed`),
      tag("progress", { max: v.tasks_total || 1, value: v.tasks_completed, "aria-label": "Stories completed" }),
      tag("p", {}, tag("span", { class: "strong" }, v.phase), ` · ${v.next}`),
      tag("div", { class: "row" }, tag("span", { class: "faint" }, running), abort)];
  });
}

async function stop() {
  if (await confirmed(`Stop Ralphy in this checkout? Agents end at once; nothing is lost, and the next start goes on.`)) send("abort", {});
}

function needs() {
  const gate = board.gate, questions = board.questions || [], rest = (board.waits || []).filter((one) => !gate || !one.do.startsWith("ralphy approve"));
  draw("needs", [board.feature, gate, questions, rest], () => [
    gate && gatePanel(gate), ...questions.map(questionPanel),
    rest.length ? tag("div", { class: "need" }, tag("h3", {}, "Waits for you"), tag("ul", {}, rest.map((one) => tag("li", {}, one.said, " ", tag("code", {}, one.do))))) : null,
  ]);
}

function gatePanel(gate) {
  const shown = tag("pre", { hidden: true, tabindex: 0, "aria-label": "Document" });
  const read = async (name) => {
    const answer = await fetch(`document?${new URLSearchParams({ feature: board.feature, name })}`);
    shown.textContent = (await answer.text()) || "nothing to show";
    shown.hidden = false;
    shown.focus();
  };
  const remarks = tag("textarea", { id: "remarks", rows: 3, placeholder: "What should change? Its agent writes it again." });
  const act = (name, body) => async (event) => { event.target.disabled = true; if (!await send(name, { seen: gate.seen, ...body() })) event.target.disabled = false; };
  const names = [...gate.documents, ...(gate.has_changes ? ["changes"] : [])];
  return tag("div", { class: "need" }, tag("h3", {}, `${gate.document} is ready for review`),
    gate.notes.map((note) => tag("p", {}, note)),
    tag("div", { class: "row", role: "group", "aria-label": "Read" }, names.map((name) => tag("button", { type: "button", on: () => read(name) }, name === "changes" ? "The code's changes" : `Read ${name}`))),
    shown, tag("label", { for: "remarks" }, "Remarks, to send it back"), remarks,
    tag("div", { class: "row" }, tag("button", { type: "button", id: "approve", class: "yes", on: act("approve", () => ({})) }, `Approve ${gate.document}`),
      tag("button", { type: "button", class: "bad", on: act("reject", () => ({ text: remarks.value })) }, "Send back with remarks")));
}

function questionPanel(asked, number) {
  const words = tag("textarea", { id: `answer-${number}`, rows: 3 });
  return tag("div", { class: "need" }, tag("h3", {}, `${asked.key} asks: ${asked.title}`), tag("blockquote", {}, asked.question),
    tag("label", { for: `answer-${number}` }, "Your answer"), words,
    tag("div", { class: "row" }, tag("button", { type: "button", class: "yes", on: () => send("answer", { key: asked.key, text: words.value }) }, `Answer ${asked.key}`)));
}

function agents() {
  const rows = board.agents || [];
  draw("agents", rows, () => rows.length ? [tag("h3", {}, `Agents at work: ${rows.length}`), tag("ul", { class: "agents" }, rows.map((one) =>
    tag("li", { class: one.warned ? "warned" : "" },
      tag("div", { class: "row" }, tag("span", { class: "strong" }, one.subject), tag("button", { type: "button", class: "plain", on: () => openLog(one.subject) }, "log")),
      tag("div", { class: "faint" }, `lane ${one.lane || "–"} · attempt ${one.attempt} · ${one.model} · `, tag("span", { "data-since": one.began }, ticking(now() - one.began)), ` · ${one.calls} ${one.calls === 1 ? "call" : "calls"}`),
      one.warned ? tag("div", { class: "waiting" }, `! ${one.warned}`) : null, tag("div", { class: "doing" }, one.doing))))] : []);
}

function figures(v) {
  const b = board.budget;
  draw("figures", [b, v.tokens, v.forecast, v.circuit_breaker, v.usage_windows, v.watchdog], () => {
    if (!b) return [];
    const of = b.max_cost_usd == null ? "no limit" : `of ${money(b.max_cost_usd)}`;
    const tokens = v.tokens || {}, ahead = v.forecast;
    const cells = [["Cost", money(b.cost_usd), of], ["Agent runs", `${b.runs} of ${b.max_runs}`, `${b.calls_left} calls left this hour`],
      ["Left", ahead ? `about ${span(ahead.seconds)}` : "unknown", ahead ? `${ahead.stories_left} stories, ${money(ahead.cost_usd)}` : "until a story has landed"],
      ["Tokens", `${short(tokens.output || 0)} out`, `${short(tokens.input || 0)} in, ${short(tokens.cache_read || 0)} read and ${short(tokens.cache_creation || 0)} written in the cache`],
      ["Circuit breaker", v.circuit_breaker.state, v.circuit_breaker.last_trigger || ""],
      ...(v.usage_windows || []).map((one) => [`Usage: ${one.kind}`, one.used == null ? "nearly all" : `${Math.round(one.used * 100)} %`, one.resets_at ? `reset at ${clock(Date.parse(one.resets_at) / 1000)}` : ""])];
    return tag("dl", { class: "figures" }, cells.map(([name, value, more]) => tag("div", {}, tag("dt", {}, name), tag("dd", {}, value, more ? tag("small", {}, more) : null))));
  });
}

function stories(v) {
  draw("stories", v.stories, () => (v.stories || []).length ? [tag("h3", {}, "Stories"), tag("div", { class: "wide" }, tag("table", { class: "stories" },
    tag("thead", {}, tag("tr", {}, ["Story", "State", "Attempts", "After", ""].map((name) => tag("th", { scope: "col" }, name)))),
    tag("tbody", {}, v.stories.map((row) => {
      const flags = [row.verified === false && "unverified", row.warnings && `${row.warnings} flagged`, row.parts && row.parts.proved + row.parts.left < row.parts.of && `${row.parts.of - row.parts.proved - row.parts.left} of ${row.parts.of} changes untested`].filter(Boolean);
      return tag("tr", {}, tag("td", { class: "title" }, tag("span", { class: "strong" }, row.id), ` ${row.title}`, row.last_error && row.status !== "completed" ? tag("div", { class: "bad" }, brief(row.last_error)) : null),
        tag("td", { class: `now ${TONES[row.status] || ""}` }, WORDS[row.status] || row.status, flags.length ? tag("div", { class: "waiting" }, flags.join(", ")) : null),
        tag("td", { class: "now" }, row.attempts ? `${row.attempts} ${row.attempts === 1 ? "attempt" : "attempts"}` : ""), tag("td", {}, (row.depends_on || []).join(", ")),
        tag("td", { class: "last" }, tag("button", { type: "button", class: "plain", "aria-label": `Log of ${row.id}`, on: () => openLog(row.id) }, "log")));
    }))))] : []);
}

function graph(v) {
  const rows = v.stories || [], depth = board.depths || {}, hasEdges = rows.some((row) => row.depends_on);
  draw("graph", [hasEdges && rows.map((row) => [row.id, row.status, row.depends_on]), depth], () => {
    if (!hasEdges) return [];
    const W = 96, H = 30, GX = 56, GY = 12, at = {}, filled = {};
    for (const row of rows) { const x = depth[row.id] || 0, y = filled[x] = (filled[x] ?? -1) + 1; at[row.id] = [x * (W + GX) + 2, y * (H + GY) + 2]; }
    const width = (Math.max(...Object.keys(filled).map(Number)) + 1) * (W + GX) - GX + 4, height = (Math.max(...Object.values(filled)) + 1) * (H + GY);
    const edges = rows.flatMap((row) => (row.depends_on || []).filter((id) => at[id]).map((id) => {
      const [x1, y1] = [at[id][0] + W, at[id][1] + H / 2], [x2, y2] = [at[row.id][0], at[row.id][1] + H / 2];
      return tag("svg:path", { class: "edge", d: `M${x1} ${y1} C${x1 + GX / 2} ${y1} ${x2 - GX / 2} ${y2} ${x2} ${y2}` });
    }));
    const nodes = rows.map((row) => tag("svg:g", {}, tag("svg:title", {}, `${row.id} ${row.title}: ${row.status}`),
      tag("svg:rect", { class: `node ${row.status}`, x: at[row.id][0], y: at[row.id][1], width: W, height: H, rx: 5 }),
      tag("svg:text", { x: at[row.id][0] + W / 2, y: at[row.id][1] + 20, "text-anchor": "middle" }, `${(WORDS[row.status] || "·")[0]} ${row.id}`)));
    return [tag("h3", {}, "Dependencies"), tag("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Dependencies; the stories' table says the same" },
      tag("svg:svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "What each story comes after" }, edges, nodes))];
  });
}

function burn() {
  const rows = board.burn || [];
  draw("burn", [rows, (board.night || {}).ended], () => {
    if (rows.length < 2) return [];
    const W = 420, H = 170, L = 28, B = 22, start = rows[0].at, end = Math.max(rows[rows.length - 1].at, (board.night || {}).ended || 0, start + 60), most = Math.max(1, rows[0].left);
    const x = (at) => L + (W - L - 6) * (at - start) / (end - start), y = (left) => 8 + (H - B - 8) * (1 - left / most);
    let path = `M${x(start)} ${y(rows[0].left)}`;
    for (const row of rows.slice(1)) path += ` H${x(row.at)} V${y(row.left)}`;
    path += ` H${x(end)}`;
    const last = rows[rows.length - 1].left;
    return [tag("h3", {}, "Burn-down"), tag("svg:svg", { viewBox: `0 0 ${W} ${H}`, width: W, role: "img", "aria-label": `Stories left: from ${rows[0].left} at ${clock(start)} to ${last} at ${clock(end)}` },
      tag("svg:path", { class: "axis", d: `M${L} 8 V${H - B} H${W - 6}` }), tag("svg:path", { class: "left", d: path }),
      rows.slice(1).map((row) => tag("svg:circle", { class: "dot", cx: x(row.at), cy: y(row.left), r: 3 }, tag("svg:title", {}, `${row.story} landed at ${clock(row.at)}`))),
      tag("svg:text", { class: "faint", x: L - 6, y: y(most) + 5, "text-anchor": "end" }, most), tag("svg:text", { class: "faint", x: L - 6, y: y(0) + 4, "text-anchor": "end" }, 0),
      tag("svg:text", { class: "faint", x: L, y: H - 5 }, clock(start)), tag("svg:text", { class: "faint", x: W - 6, y: H - 5, "text-anchor": "end" }, clock(end)),
      tag("svg:text", { x: x(end) - 4, y: Math.max(16, y(last) - 6), "text-anchor": "end" }, `${last} left`))];
  });
}

function table(names, rows, numbers) {
  const style = (n) => n >= names.length - numbers ? "number" : "";
  return tag("div", { class: "wide", tabindex: 0, role: "region", "aria-label": names.join(", ") }, tag("table", {},
    tag("thead", {}, tag("tr", {}, names.map((name, n) => tag("th", { scope: "col", class: style(n) }, name)))),
    tag("tbody", {}, rows.map((row) => tag("tr", {}, row.map((cell, n) => tag("td", { class: style(n) }, `${cell}`)))))));
}

function night() {
  const facts = board.night || { turns: [], pauses: [], lanes: [] };
  draw("night", facts, () => {
    if (!facts.turns.length) return [];
    const W = 980, L = 64, TOP = 20, ROW = 28, start = facts.began, end = Math.max(facts.ended, facts.turns.some((one) => !one.ended) ? now() : 0, start + 60);
    const x = (at) => L + (W - L) * Math.min(1, Math.max(0, (at - start) / (end - start))), height = TOP + ROW * facts.lanes.length + 4;
    const step = [60, 300, 900, 1800, 3600, 7200, 14400].find((one) => (end - start) / one <= 9) || 28800, ticks = [];
    for (let at = Math.ceil(start / step) * step; at < end; at += step) ticks.push(tag("svg:path", { class: "axis", d: `M${x(at)} ${TOP - 4} V${height}` }), tag("svg:text", { class: "faint", x: x(at), y: 11, "text-anchor": "middle" }, clock(at)));
    const pauses = facts.pauses.map((one) => tag("svg:rect", { class: "pause", x: x(one.began), y: TOP, width: Math.max(0, x(one.ended || end) - x(one.began)), height: height - TOP - 4 }, tag("svg:title", {}, `waited for ${one.why}`)));
    const bars = facts.turns.map((one) => {
      const left = x(one.began), width = Math.max(3, x(one.ended || end) - left), y = TOP + ROW * facts.lanes.indexOf(one.lane);
      const label = one.of.length * 7.2 < width - 6 ? tag("svg:text", { class: "on", x: left + 5, y: y + 17 }, one.of) : null;
      return tag("svg:g", {}, tag("svg:title", {}, `${one.title}, attempt ${one.attempt}: ${KINDS[one.kind]}${one.why ? ` (${one.why})` : ""}`), tag("svg:rect", { class: `bar ${one.kind}`, x: left, y: y + 2, width, height: ROW - 6, rx: 3 }), label);
    });
    const lanes = facts.lanes.map((name, n) => tag("svg:text", { class: "faint", x: 0, y: TOP + ROW * n + 18 }, `lane ${name}`));
    const said = facts.turns.map((one) => [clock(one.began), one.lane, one.title, one.attempt, KINDS[one.kind], one.why, money(one.cost_usd)]);
    return [tag("h3", {}, "The night by lane"), tag("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Timeline" },
      tag("svg:svg", { class: "full", viewBox: `0 0 ${W} ${height}`, role: "img", "aria-label": "Runs by lane; the table below says the same" }, pauses, ticks, lanes, bars)),
      tag("details", {}, tag("summary", {}, "As a table"), table(["Began", "Lane", "Run", "Attempt", "Result", "Why", "Cost"], said, 1))];
  });
}

function costs() {
  draw("costs", board.costs, () => (board.costs || []).length ? [tag("h3", {}, "Cost"), table(["Of", "Model", "Runs", "Time", "Cost"],
    board.costs.map((one) => [one.of, one.model, one.runs, span(one.seconds), money(one.usd)]), 3)] : []);
}

function proof() {
  draw("proof", board.proof, () => (board.proof || []).length ? [tag("h3", {}, "What proves each criterion"), table(["Criterion", "Test", "Before", "After", "Commit"],
    board.proof.map((one) => [`${one.id} ${one.criterion}`, one.test || "no test shows it", one.before, one.after, one.commit.slice(0, 8)]), 0)] : []);
}

async function openLog(story) {
  logOf = story;
  await readLog();
  find("log").scrollIntoView({ block: "nearest" });
  find("log").querySelector("pre")?.focus();
}

async function readLog() {
  if (logOf === null || !board) return;
  logDue = 0;
  const answer = await fetch(`log?${new URLSearchParams({ feature: board.feature, story: logOf })}`);
  const text = answer.ok ? (await answer.text()) || "no lines yet" : "no saved run";
  const old = find("log").querySelector("pre"), isAtEnd = !old || old.scrollHeight - old.scrollTop - old.clientHeight < 40;
  draw("log", [logOf, text], () => [tag("div", { class: "row" }, tag("h3", {}, `Log of ${logOf || board.feature}`), tag("button", { type: "button", class: "plain", on: closeLog }, "close")), tag("pre", { tabindex: 0, role: "log" }, text)]);
  if (isAtEnd) { const shown = find("log").querySelector("pre"); shown.scrollTop = shown.scrollHeight; }
}

function closeLog() { logOf = null; drawn.delete("log"); find("log").replaceChildren(); find("log").hidden = true; }

function show() {
  const v = board.status || {};
  document.title = board.gate || (board.questions || []).length ? `(!) ${board.feature} · Ralphy` : `${board.feature || "Ralphy"} · Ralphy`;
  for (const part of [inbox, () => head(v), needs, agents, () => figures(v), () => stories(v), () => graph(v), burn, costs, night, proof]) part();
  if (logOf !== null) logDue ||= Date.now() + 800;
}

function choose(feature) { location.hash = encodeURIComponent(feature); }

function connect() {
  source?.close();
  source = new EventSource(`events?${new URLSearchParams({ feature: chosen })}`);
  const took = (text) => { const news = JSON.parse(text); drift = news.at - Date.now() / 1000; board = { ...board, ...news }; show(); };
  source.addEventListener("board", (event) => { board = {}; took(event.data); });
  source.addEventListener("agents", (event) => took(event.data));
  source.onopen = () => { find("link").textContent = "Connected."; find("link").className = "faint"; };
  source.onerror = () => { find("link").textContent = "No connection to Ralphy's dashboard. Trying again …"; find("link").className = "lost"; };
}

addEventListener("hashchange", () => { chosen = decodeURIComponent(location.hash.slice(1)); closeLog(); say(""); connect(); });
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(TEXTAREA|INPUT)$/.test(event.target.tagName) || find("ask").open) return;
  const wanted = event.key === "a" ? find("approve") : event.key === "r" ? find("remarks") : null;
  if (wanted) { wanted.focus(); event.preventDefault(); }
  if (event.key === "l") { logOf === null ? openLog("") : closeLog(); }
  if (/^[1-9]$/.test(event.key)) document.querySelector(`[data-number="${event.key}"]`)?.click();
});
setInterval(() => {
  if (document.hidden) return;
  for (const one of document.querySelectorAll("[data-since]")) one.textContent = ticking(now() - Number(one.dataset.since));
  if (logDue && Date.now() > logDue) readLog();
}, 1000);
connect();
