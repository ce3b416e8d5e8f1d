// Keeps the page current: listens to the log, fetches the same address anew, puts the parts that changed in place.
// Everything is made by the server; without this file the page shows the same, stands still, and names the commands.

const words = JSON.parse(document.body.dataset.words);
const policy = globalThis.trustedTypes?.createPolicy("hansard", { createHTML: (text) => text }) ?? {
  createHTML: (text) => text,
};

/** The one place where text becomes a document: only our own pages, escaped by the server, come here. */
function parsed(text) {
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}

// -- parts -----------------------------------------------------------------------------------------------------------

const parts = () => [...document.querySelectorAll("[data-part]")];
const received = new Map(parts().map((part) => [part.dataset.part, part.cloneNode(true)]));
let announced = newestHighlight(document);

function put(fresh) {
  for (const part of parts()) {
    const name = part.dataset.part;
    const next = fresh.querySelector(`[data-part="${CSS.escape(name)}"]`);
    if (!next || next.isEqualNode(received.get(name))) continue;
    received.set(name, next.cloneNode(true));
    replace(part, document.importNode(next, true));
  }
  document.title = fresh.title;
  for (const name of ["stream", "after", "version"]) {
    if (name in fresh.body.dataset) document.body.dataset[name] = fresh.body.dataset[name];
    else delete document.body.dataset[name];
  }
  announce(fresh);
  dress(document);
}

/** The reader is never moved: what is open stays open, the focus stays, a list follows only when it is at its end. */
function replace(part, next) {
  const active = part.contains(document.activeElement) ? document.activeElement.id : "";
  for (const open of part.querySelectorAll("details[open][id]")) next.querySelector(`#${CSS.escape(open.id)}`)?.setAttribute("open", "");
  const scrolled = new Map([...part.querySelectorAll("[data-scroll]")].map((list) => [list.dataset.scroll, place(list)]));
  part.replaceWith(next);
  for (const list of next.querySelectorAll("[data-scroll]")) {
    const before = scrolled.get(list.dataset.scroll);
    if (before && !before.atEnd) list.scrollTop = before.top - (list.scrollHeight - before.height);
  }
  if (active) document.getElementById(active)?.focus({ preventScroll: true });
}

/** Lists stand on their end (column-reverse): scrollTop is 0 there and negative further up. */
function place(list) {
  return { atEnd: list.scrollTop > -8, top: list.scrollTop, height: list.scrollHeight };
}

function newestHighlight(page) {
  return Math.max(0, ...[...page.querySelectorAll("[data-highlight]")].map((row) => Number(row.dataset.highlight)));
}

/** To screen readers only what matters is told, not every event. */
function announce(fresh) {
  const newest = newestHighlight(fresh);
  if (newest > announced) {
    const row = fresh.querySelector(`[data-highlight="${newest}"] .message`);
    document.querySelector("[data-announcer]").textContent = row?.textContent ?? "";
  }
  announced = Math.max(announced, newest);
}

/** What only a browser with this file can show: local times, forms in place of commands, the running clock. */
function dress(root) {
  const form = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[data-local]")) {
    time.title = time.dateTime;
    time.textContent = form.format(new Date(time.dateTime));
  }
  for (const element of root.querySelectorAll("form[data-command]")) element.hidden = false;
  for (const element of root.querySelectorAll("[data-without-js]")) element.hidden = true;
  tick();
}

function tick() {
  const clock = document.querySelector("[data-elapsed]");
  if (!clock) return;
  const since = Math.max(0, Date.now() - Date.parse(clock.dataset.asOf));
  const seconds = Math.floor((Number(clock.dataset.elapsed) + since) / 1000);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  clock.textContent = hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

// -- following -------------------------------------------------------------------------------------------------------

const SHORTEST_MS = 400;
const RETRY_MS = 3000;
let source = null;
let planned = null;
let busy = false;
let again = false;

function tell(state) {
  const place = document.querySelector("[data-live]");
  place.hidden = false;
  place.className = `live is-${state}`;
  place.textContent = words[state];
}

/** A tab that nobody sees holds no connection: a browser has six for each server. */
function follow() {
  if (source || document.hidden || !("stream" in document.body.dataset)) return;
  const { stream, after } = document.body.dataset;
  source = new EventSource(`${stream}?after=${after}`);
  source.onopen = () => tell("live");
  source.onmessage = () => plan(SHORTEST_MS);
  source.addEventListener("end", () => {
    release();
    plan(0);
  });
  source.onerror = () => {
    tell("lost");
    if (source?.readyState !== EventSource.CLOSED) return;
    release();
    plan(RETRY_MS);
  };
}

function release() {
  source?.close();
  source = null;
}

function plan(milliseconds) {
  planned ??= setTimeout(refresh, milliseconds);
}

async function refresh() {
  planned = null;
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (!answer.ok || !answer.headers.get("Content-Type")?.startsWith("text/html")) throw new Error(String(answer.status));
    put(parsed(await answer.text()));
    if (!("stream" in document.body.dataset)) {
      release();
      tell("finished");
    } else if (source) tell("live");
    follow();
  } catch {
    tell(navigator.onLine ? "behind" : "lost");
    plan(RETRY_MS);
  } finally {
    busy = false;
    if (again) {
      again = false;
      plan(SHORTEST_MS);
    }
  }
}

// -- commands --------------------------------------------------------------------------------------------------------

/** The same form sent twice is one command: the key stays until the server has taken it. */
function keyOf(form) {
  form.dataset.key ??= [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  return form.dataset.key;
}

function bodyOf(form) {
  const filled = [...form.elements].filter((field) => field.name && field.value.trim() !== "");
  return Object.fromEntries(filled.map((field) => [field.name, field.type === "number" ? field.valueAsNumber : field.value]));
}

async function send(form) {
  const [answered, button] = [form.querySelector("[role=alert]"), form.querySelector("button")];
  button.disabled = true;
  answered.textContent = words.sending;
  try {
    const answer = await fetch(form.dataset.command, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": keyOf(form) },
      body: JSON.stringify(bodyOf(form)),
    });
    if (answer.ok) {
      answered.textContent = "";
      form.reset();
      await refresh();
    } else answered.textContent = await problemOf(answer);
    if (answer.status < 500) delete form.dataset.key;
  } catch {
    answered.textContent = words.unreachable;
  } finally {
    button.disabled = false;
  }
}

async function problemOf(answer) {
  const problem = await answer.json().catch(() => ({}));
  const fields = (problem.errors ?? []).map((error) => `${error.pointer.replace(/^\//, "")}: ${error.detail}`);
  return fields.join("; ") || problem.detail || `${answer.status} ${answer.statusText}`;
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-command]")) return;
  event.preventDefault();
  send(event.target);
});

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-command]");
  if (form) delete form.dataset.key;
});

// -- keys, tabs, start -----------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea, [tabindex]")) return;
  document.querySelector(`.steps a[rel="${step}"]`)?.click();
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) release();
  else if ("stream" in document.body.dataset) plan(0);
});

addEventListener("pageshow", (event) => {
  if (event.persisted && "stream" in document.body.dataset) plan(0);
});
addEventListener("pagehide", release);

dress(document);
setInterval(tick, 1000);
if ("stream" in document.body.dataset) follow();
else if ("version" in document.body.dataset) tell("replay" in document.body.dataset ? "still" : "finished");
