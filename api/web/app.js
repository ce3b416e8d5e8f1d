// Keeps a page up to date and sends its forms. The server renders everything: without this script the page shows the
// same content, does not update, and the browser submits its forms. See session.js for the page of a session.

import { since, tick, wallClocks } from "./clocks.js";
import { following } from "./following.js";
import { going } from "./going.js";
import { living } from "./living.js";
import { noticing } from "./noticing.js";
import { pacing } from "./pacing.js";
import { palette } from "./palette.js";
import { remarks } from "./remarks.js";
import { renewKey, sent } from "./sending.js";
import { session } from "./session.js";
import { sheets } from "./sheet.js";
import { starting } from "./start.js";
import { taking } from "./taking.js";

const words = JSON.parse(document.body.dataset.words);
const policy = globalThis.trustedTypes?.createPolicy("hansard", { createHTML: (text) => text }) ?? {
  createHTML: (text) => text,
};

/** The only place where text becomes HTML. Its input is our own pages, which the server has escaped. */
function parsed(text) {
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}

// -- parts -----------------------------------------------------------------------------------------------------------

/** The nodes of an HTML fragment from our server. */
function pieces(html) {
  return [...document.importNode(parsed(`<body>${html}`).body, true).childNodes];
}

/** The boxes of a part that scroll by themselves. */
const scrolled = (part) => [...part.querySelectorAll(".list, .gantt-box, .wide-table")];

/** What a part has that its next content keeps: open details, typed text, the places in its lists and the focus. */
function keeping(part) {
  return {
    part,
    active: part.contains(document.activeElement) ? document.activeElement.id : "",
    open: new Map([...part.querySelectorAll("details[id]")].map((found) => [found.id, found.open])),
    typed: new Map([...part.querySelectorAll("input[id], textarea[id]")].map((found) => [found.id, found.value])),
    places: scrolled(part).map((box) => ({ top: box.scrollTop, left: box.scrollLeft })),
  };
}

function keep({ part, active, open, typed, places }) {
  for (const found of part.querySelectorAll("details[id]")) if (open.has(found.id)) found.open = open.get(found.id);
  for (const found of part.querySelectorAll("input[id], textarea[id]")) if (typed.has(found.id)) found.value = typed.get(found.id);
  for (const [at, box] of scrolled(part).entries()) if (places[at]?.top || places[at]?.left) box.scrollTo(places[at]);
  if (active) document.getElementById(active)?.focus({ preventScroll: true });
}

/** Replaces the content of parts: `[part, nodes]`. All places are read first: one read after a change lays out the page. */
function fill(...changes) {
  const kept = changes.map(([part]) => keeping(part));
  for (const [part, nodes] of changes) part.replaceChildren(...nodes);
  kept.forEach(keep);
  dress(...changes.map(([part]) => part));
}

/** Removes the idempotency keys from the forms: the script makes them on submit, and they would make every page differ.
    */
function withoutKeys(page) {
  for (const found of page.querySelectorAll("form:not([data-plain]) > input[name=key]")) found.remove();
}

withoutKeys(document);

const parts = () => [...document.querySelectorAll("[data-part]")];
const received = new Map(parts().map((part) => [part.dataset.part, part.cloneNode(true)]));
let announced = newestHighlight(document);

/** Applies a reloaded page: replaces only the parts that changed. */
function put(fresh) {
  withoutKeys(fresh);
  const changes = [];
  for (const part of parts()) {
    const name = part.dataset.part;
    const next = fresh.querySelector(`[data-part="${CSS.escape(name)}"]`);
    if (!next || next.isEqualNode(received.get(name))) continue;
    received.set(name, next.cloneNode(true));
    changes.push([part, [...document.importNode(next, true).childNodes]]);
  }
  fill(...changes);
  document.title = fresh.title;
  for (const name of ["follows", "head"]) page[name] = fresh.body.dataset[name] ?? "";
  announce(fresh);
  notices.seen(fresh);
}

function newestHighlight(page) {
  return Math.max(0, ...[...page.querySelectorAll("[data-highlight]")].map((row) => Number(row.dataset.highlight)));
}

/** Announces highlights to screen readers, not every event. */
function announce(fresh) {
  const newest = newestHighlight(fresh);
  if (newest > announced) {
    const row = fresh.querySelector(`[data-highlight="${newest}"] .message`);
    document.querySelector("[data-announcer]").textContent = row?.textContent ?? "";
  }
  announced = Math.max(announced, newest);
}

/** Adds what needs the script: local times and running clocks. Hides what only a page without it needs. */
function dress(...roots) {
  for (const root of roots) dressed(root);
  tick();
  look();
}

function dressed(root) {
  const form = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  const clock = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: "short" });
  for (const time of root.querySelectorAll("time[data-local]")) {
    time.title = time.dateTime;
    time.textContent = (time.dataset.local === "clock" ? clock : form).format(new Date(time.dateTime));
  }
  since(root);
  wallClocks(root);
  for (const element of root.querySelectorAll("[data-without-js]")) {
    element.hidden = true;
    for (const field of element.querySelectorAll("input")) field.disabled = true;
  }
}

// -- following -------------------------------------------------------------------------------------------------------

const AGAIN_MS = 400;
const RETRY_MS = 3000;
const TRY_MS = 120;
const page = document.body.dataset;
let busy = false;
let again = false;
let renew = fetchPage;
const { plan, soon } = pacing({ refresh, seldom: () => page.follows === "*" });
const stream = following({
  heard(session, type) {
    const followed = page.follows.split(" ");
    if (session === "*" || followed.includes("*") || followed.includes(session)) soon(type);
  },
  stirred() {
    if (!document.hidden && document.querySelector("[data-since]")) soon();
  },
  tell(state) {
    if (page.follows) tell(state);
  },
});

let told = "";
/** Shows the state of the connection. A replay says "replay" unless something is wrong. */
function tell(state) {
  told = state;
  const shown = "replay" in page && ["live", "finished"].includes(state) ? "replay" : state;
  const place = document.querySelector("[data-live]");
  place.hidden = false;
  if (shown === "live") forgive();
  place.className = `live is-${shown}`;
  place.textContent = words[shown];
}
/** What was said of a server that did not answer is no longer so. */
function forgive() {
  for (const alert of document.querySelectorAll("[role=alert]")) if (alert.textContent === words.unreachable) alert.textContent = "";
}
addEventListener("hansard:place", () => told && tell(told));

const notices = noticing({ words });

/** Hidden tabs read no stream unless notifications are on. Finished sessions need none. */
function follow() {
  stream.known(Number(page.head));
  if (page.follows && (!document.hidden || notices.wanted())) stream.start();
  else stream.stop();
}

async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    await renew();
    if (!page.follows) tell("finished");
    follow();
  } catch {
    tell(navigator.onLine ? "behind" : "lost");
    plan(RETRY_MS);
  } finally {
    busy = false;
    if (again) {
      again = false;
      plan(AGAIN_MS);
    }
  }
}

async function fetchPage() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok || !answer.headers.get("Content-Type")?.startsWith("text/html")) throw new Error(String(answer.status));
  put(parsed(await answer.text()));
}

// -- commands --------------------------------------------------------------------------------------------------------

/** The headers of a command: its idempotency key, and the version that its sender sees. */
function envelope(form, button) {
  const [, , , session, verb] = form.dataset.command.split("/");
  const { version, state } = document.body.dataset;
  const found = { verb, session: decodeURIComponent(session), really: "yes", version: form.dataset.bound ?? version };
  if ("again" in form.dataset) found.state = state;
  if (button?.name) found[button.name] = button.value;
  return found;
}

async function send(form, button) {
  const buttons = [...form.querySelectorAll("button")];
  const row = waiting().indexOf(form.closest("[data-waits]"));
  const does = button?.textContent.trim() ?? "";
  const about = form.closest("[data-waits]")?.querySelector(".what a, h2 a, a")?.textContent.trim() ?? document.querySelector("h1")?.textContent.trim() ?? "";
  for (const each of buttons) each.disabled = true;
  say(form, words.sending, { sending: true });
  try {
    const told = await sent(form, envelope(form, button));
    if (told.to) form.reset();
    if (told.to || told.status === 412) await refresh();
    if (told.to && (!form.isConnected || document.activeElement === document.body)) focusAfter(row);
    say(form, told.to ? "" : whatIsWrong(form, told));
    if (told.to) did(`✓ ${[does, about].filter(Boolean).join(": ")}`);
  } catch {
    say(form, words.unreachable);
  } finally {
    for (const each of buttons) each.disabled = false;
  }
}

const SAID_MS = 8000;

/** Says what an answer has done: to see, and to hear. */
function did(sentence) {
  document.querySelector("[data-announcer]").textContent = sentence;
  const place = document.body.appendChild(document.createElement("p"));
  place.className = "did";
  place.setAttribute("aria-hidden", "true");
  place.textContent = sentence;
  setTimeout(() => place.remove(), SAID_MS);
}

const waiting = () => [...document.querySelectorAll("[data-waits]")];

/** Moves the focus after an answer: to the head of the session, or to the row that took the place of the answered one.
    */
function focusAfter(row) {
  const next = waiting()[Math.min(row, waiting().length - 1)];
  const place = document.getElementById("top") ?? next?.querySelector("a") ?? document.getElementById("content");
  place.focus({ preventScroll: !next });
}

/** The errors of the fields under their labels, or else the error of the whole form. */
function whatIsWrong(form, { words: whole, errors }) {
  const label = (name) => form.elements.namedItem(name)?.labels?.[0]?.firstChild.textContent.trim() || name;
  return Object.entries(errors).map(([name, sentence]) => `${label(name)}: ${sentence}`).join("; ") || whole;
}

/** Shows a message at the form, or at the top of the page if an update has removed the form. */
function say(form, sentence, { sending = false } = {}) {
  const place = form.isConnected ? form.querySelector("[role=alert]") : document.querySelector("[data-told]");
  if (!place) return;
  place.textContent = sentence;
  place.classList.toggle("is-sending", sending);
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-command]")) return;
  event.preventDefault();
  send(event.target, event.submitter);
});

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-command]");
  if (form) renewKey(form);
});

/** The lab's sliders: previews the change at once, and keeps their positions in the URL. */
let tried = null;
document.addEventListener("input", ({ target }) => {
  const form = target.closest("form[data-lab]");
  if (!form) return;
  const output = document.querySelector(`output[for="${CSS.escape(target.id)}"]`);
  if (output) output.textContent = (Number(target.value) / 100).toFixed(2);
  if (target.matches("select")) return location.assign(`/lab?${new URLSearchParams({ session: target.value })}`);
  clearTimeout(tried);
  tried = setTimeout(() => {
    history.replaceState(null, "", `/lab?${new URLSearchParams(new FormData(form))}`);
    fetchPage().catch(() => {});
  }, TRY_MS);
});

// -- tabs, start -----------------------------------------------------------------------------------------------------

document.addEventListener("visibilitychange", () => {
  look();
  if (document.hidden) follow();
  else if (page.follows) plan(0);
});

addEventListener("pageshow", (event) => {
  if (event.persisted && page.follows) plan(0);
});
addEventListener("pagehide", stream.stop);

const look = "session" in page ? living() : () => {};
dress(document);
// one timer for all clocks: each moment at which text changes costs a layout of the page
setInterval(() => {
  tick();
  look();
}, 1000);
setInterval(() => since(document), 30_000);
if ("session" in page) renew = session({ pieces, fill, announce });
going({ words });
palette();
remarks();
sheets({ parsed });
taking({ tell: (said) => (document.querySelector("[data-announcer]").textContent = said) });
if (page.follows) follow();
else if ("version" in page) tell("finished");
if (document.querySelector("form[data-start]")) starting({ words, pieces });
