// Live activity of agents: a list of the last steps on a turn, one line on a session. Each running turn has a stream
// while its tab is visible. A browser opens only six connections to a server, so all tabs together open a few streams
// at a time; the other turns poll.

import { clocked, present, say } from "./clocks.js";

const SEATS = 3;
const POLL_MS = 500;
const QUIET = new Set(["usage"]);
const [LINE, LONG, NEAR] = [300, 4000, 30];
const RULES = /^[=\-_\s]+|[=\-_\s]+$/g;

/** Follows every running turn on the page. Returns the function that looks which these are, and sets their clocks. */
export function living() {
  const followed = new Map();

  return () => {
    const past = "replay" in document.body.dataset; // where nothing is at work now
    const shown = new Set(document.hidden || past ? [] : document.querySelectorAll("[data-activity]"));
    for (const [place, turn] of followed) {
      if (shown.has(place)) turn.tick();
      else if (followed.delete(place)) turn.leave();
    }
    for (const place of shown) if (!followed.has(place)) followed.set(place, follow(place));
  };
}

/** Follows one turn from its first step. */
function follow(place) {
  const leaving = new AbortController();
  const steps = stepsIn(place);
  let seq = 0;

  function take(frame) {
    if (frame.seq <= seq) return;
    seq = frame.seq;
    if (!QUIET.has(frame.kind)) steps.add(frame);
  }

  async function ask() {
    const answer = await fetch(`${place.dataset.activity}?after=${seq}`, { headers: { Accept: "application/json" } });
    if (answer.ok) (await answer.json()).items.forEach(take);
  }

  async function run({ signal }) {
    const streamed = await seated(() => stream(place.dataset.activity, take, signal));
    while (!streamed && !signal.aborted) {
      await ask().catch(() => {}); // the page itself says that there is no server
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }

  run(leaving);
  return { leave: () => leaving.abort(), tick: steps.tick };
}

/** Runs `work` while holding one of the stream slots. Returns its result; false if all slots are taken. */
async function seated(work) {
  for (let seat = 0; navigator.locks && seat < SEATS; seat += 1) {
    const options = { ifAvailable: true };
    const answer = await navigator.locks.request(`hansard-activity-${seat}`, options, (lock) => lock && work());
    if (answer !== null) return answer;
  }
  return false;
}

/** Reads the stream until the turn ends or the tab is hidden. Returns false if there is no stream. */
function stream(address, take, signal) {
  return new Promise((done) => {
    if (signal.aborted) return done(true);
    const source = new EventSource(address);
    const end = (read) => {
      source.close();
      done(read);
    };
    source.onmessage = ({ data }) => take(JSON.parse(data));
    source.onerror = () => source.readyState === EventSource.CLOSED && end(false);
    source.addEventListener("end", () => end(true));
    return signal.addEventListener("abort", () => end(true));
  });
}

/** Renders the last steps as list items, or as one line with the time. */
function stepsIn(place) {
  const { most, began } = place.dataset;
  const steps = new Map();
  const listed = place.localName === "ol";
  if (listed) place.replaceChildren();

  function add(frame) {
    if (new Date(frame.at) < new Date(began)) return; // of an earlier attempt
    const key = (frame.kind === "tool" && frame.id) || `frame ${frame.seq}`;
    const earlier = steps.get(key);
    const words = earlier?.words ?? named(place.dataset, frame, listed ? written : lastLine);
    if (!words.what) return;
    const step = { words, came: result(place.dataset, frame), item: earlier?.item };
    steps.set(key, step);
    const follows = !isHeld(place);
    if (listed) {
      step.item ??= place.appendChild(itemOf(frame, words, began));
      step.item.className = `is-${frame.status ?? frame.kind}`;
      step.item.lastChild.textContent = step.came;
    }
    if (follows || !listed) trim();
    if (follows && listed) place.scrollTop = place.scrollHeight;
    tick();
  }

  function trim() {
    for (const [oldest, { item }] of [...steps].slice(0, Math.max(0, steps.size - Number(most)))) {
      steps.delete(oldest);
      item?.remove();
    }
  }

  function tick() {
    if (listed) return;
    const due = present() >= new Date(began); // what waits for its next attempt is not at work
    const said = [...steps.values()].map(({ words, came }) => [words.verb, words.what].filter(Boolean).join(" ") + came);
    say(place, due ? [...said, clocked(began, present())].join(" · ") : "");
  }

  return { add, tick };
}

/** Whether the reader has scrolled up in a list, or selects in it: then nothing moves. */
function isHeld(place) {
  const { anchorNode, isCollapsed } = getSelection();
  if (!isCollapsed && place.contains(anchorNode)) return true;
  return place.scrollHeight - place.scrollTop - place.clientHeight > NEAR;
}

/** A step with the time since the beginning: words as text, what a tool works on as code. */
function itemOf(frame, { verb, what }, began) {
  const item = document.createElement("li");
  item.dataset.time = clocked(began, frame.at);
  const title = document.createElement(verb ? "code" : "span");
  title.textContent = what;
  item.append(verb ? `${verb} ` : "", title, document.createElement("span"));
  return item;
}

/** `Edit` and `calc.py`, or the agent's message. */
function named(words, { kind, tool, title, text }, message) {
  if (kind !== "tool") return { what: message(text) };
  const file = (tool === "read" || tool === "edit") && title && !title.includes(", ");
  const what = file ? title.split("/").filter(Boolean).at(-1) ?? title : title;
  return { verb: words[tool], what: cut(what ?? "", LINE) };
}

/** ` → 1 failed` */
function result(words, { kind, status, exitCode, text }) {
  if (kind !== "tool") return "";
  if (status === "denied") return ` → ${words.denied}`;
  if (status !== "failed") return "";
  return ` → ${lastLine(text) || (exitCode ? `${words.exit} ${exitCode}` : words.failed)}`;
}

function lastLine(text) {
  const lines = (text ?? "").split("\n").filter((line) => line.trim());
  return cut((lines.at(-1) ?? "").replace(RULES, ""), LINE);
}

function written(text) {
  return cut((text ?? "").trim(), LONG);
}

function cut(words, most) {
  return words.length > most ? `${words.slice(0, most)}…` : words;
}
