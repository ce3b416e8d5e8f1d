// Clocks: times since something began, relative times, and the reader's local time.

/** The time from `began` to a moment: `0:42`, `1:02:03`. */
export function clocked(began, moment = Date.now()) {
  const seconds = Math.max(0, Math.floor((new Date(moment) - new Date(began)) / 1000));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** Shows other words in the text that an element has: a new text would have the styles of the page worked out again. */
export function say(element, words) {
  if (element.textContent === words) return;
  if (element.firstChild?.nodeType === Node.TEXT_NODE && element.childNodes.length === 1) element.firstChild.data = words;
  else element.textContent = words;
}

const SECONDS = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const WALL = {
  millisecond: { ...SECONDS, fractionalSecondDigits: 3 },
  hundredth: { ...SECONDS, fractionalSecondDigits: 2 },
  tenth: { ...SECONDS, fractionalSecondDigits: 1 },
  second: SECONDS,
  minute: { hour: "2-digit", minute: "2-digit" },
  day: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
};

/** Replaces times since the start by the reader's local time in drawings. */
export function wallClocks(root) {
  for (const tick of root.querySelectorAll("[data-wall]")) {
    const form = new Intl.DateTimeFormat(document.documentElement.lang, { ...WALL[tick.dataset.finest], hourCycle: "h23" });
    tick.textContent = form.format(new Date(tick.dataset.wall));
  }
}

/** A bar is drawn again when it has grown by this part of its length. */
const BAR_STEPS = 200;
/** A drawing rests after each change for so many milliseconds a part: a long session has hundreds. */
const REST_MS = 40;
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** Shows relative times in the reader's language. The exact time is the tooltip. */
export function since(root) {
  const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { style: "narrow" });
  for (const time of root.querySelectorAll("time[data-ago]")) {
    const at = new Date(time.dateTime);
    const seconds = Math.max(0, (Date.now() - at) / 1000);
    const [unit, length] = UNITS.find(([, found]) => seconds >= found) ?? UNITS.at(-1);
    time.title = at.toLocaleString(document.documentElement.lang);
    say(time, words.format(-Math.floor(seconds / length), unit));
  }
}

/** A length of time in the reader's language, in its two largest units: `1 hr 52 min`. */
function length(milliseconds) {
  const minutes = Math.max(0, Math.ceil(milliseconds / 60_000));
  const parts = [[Math.floor(minutes / 1440), "day"], [Math.floor(minutes / 60) % 24, "hour"], [minutes % 60, "minute"]];
  const shown = parts.filter(([number]) => number).slice(0, 2);
  const word = ([number, unit]) => new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit, unitDisplay: "short" }).format(number);
  return (shown.length ? shown : [parts.at(-1)]).map(word).join(" ");
}

/** How long there is until a moment. The moment itself is the tooltip. */
function left(time) {
  const at = new Date(time.dateTime);
  const words = time.dataset.left.replace("{time}", length(at - moment));
  if (time.textContent === words) return;
  say(time, words);
  time.title = at.toLocaleString(document.documentElement.lang);
}

/** The moment that all clocks of the page show. */
let moment = Date.now();
export const present = () => moment;

/** Sets all running clocks of the page, and the bar of the time used. */
export function tick() {
  moment = Date.now();
  for (const time of document.querySelectorAll("time[data-since]")) {
    say(time, clocked(time.dateTime, moment));
  }
  for (const time of document.querySelectorAll("time[data-left]")) left(time);
  const past = "replay" in document.body.dataset;
  for (const wait of document.querySelectorAll("[data-until]")) wait.toggleAttribute("hidden", !past && new Date(wait.dataset.until) <= moment);
  for (const over of document.querySelectorAll("[data-after]")) over.hidden = past || new Date(over.dataset.after) > moment;
  if (past || !document.body.dataset.follows) return;
  const stood = [...document.querySelectorAll("[data-still]")].map((found) => Number(found.dataset.still));
  const standing = Math.min(moment, ...stood);
  for (const clock of document.querySelectorAll("[data-elapsed]")) goOn(clock, standing);
  for (const place of document.querySelectorAll("[data-waited]")) wait(place, standing);
  for (const drawing of document.querySelectorAll("svg[data-begin]")) grow(drawing);
}

/** The time used goes on from the version that the page shows, up to now, or since when a person is waited for. */
function goOn(clock, now) {
  const elapsed = used(clock, now);
  say(clock, clocked(0, elapsed));
  const bar = clock.closest(".gauge")?.querySelector("meter");
  if (bar && Math.abs(elapsed - bar.value) >= bar.max / BAR_STEPS) bar.value = elapsed;
}

/** The milliseconds used at that moment. */
function used({ dataset: { elapsed, asOf } }, now) {
  return Number(elapsed) + (asOf ? Math.max(0, now - Number(asOf)) : 0);
}

/** What is not time used was waiting: together they are the time since the beginning. */
function wait(place, now) {
  const whole = Math.floor((moment - Number(place.dataset.begin)) / SECOND);
  const waited = whole - Math.floor(used({ dataset: { elapsed: place.dataset.waited, asOf: place.dataset.asOf } }, now) / SECOND);
  const words = waited > 0 ? place.dataset.words.replace("{n}", clocked(0, waited * SECOND)) : "";
  say(place, words);
}

const [TICKS, SECOND, LABEL] = [6, 1000, 70];
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** Draws a timeline up to now: what is over becomes shorter, what still goes on reaches the end. */
function grow(drawing) {
  const [begin, end] = [Number(drawing.dataset.begin), Number(drawing.dataset.end)];
  const whole = Math.max(moment, end) - begin;
  const share = (end - begin) / whole;
  const time = drawing.closest(".part")?.querySelector("[data-gantt-time]");
  if (time) say(time, clocked(begin, moment));
  if (Math.abs(share - Number(drawing.dataset.share ?? 1)) < 1 / (2 * BAR_STEPS) * share) return;
  if (Date.now() < Number(drawing.dataset.rests ?? 0)) return;
  const parts = drawing.querySelectorAll("rect, a > text, svg");
  drawing.dataset.share = String(share);
  drawing.dataset.rests = String(Date.now() + parts.length * REST_MS);
  for (const found of parts) {
    found.dataset.x ??= found.getAttribute("x");
    found.setAttribute("x", `${Number.parseFloat(found.dataset.x) * share}%`);
    if (found.localName !== "rect") continue;
    found.dataset.width ??= found.getAttribute("width");
    const width = "open" in found.dataset ? 100 - Number.parseFloat(found.dataset.x) * share : Number.parseFloat(found.dataset.width) * share;
    found.setAttribute("width", `${Math.max(width, 0.2)}%`);
  }
  rule(drawing, begin, whole);
}

/** The ticks of a drawing that has grown. */
function rule(drawing, begin, whole) {
  const most = Math.min(TICKS, Math.max(1, Math.floor(drawing.clientWidth / LABEL)));
  const step = SECOND * (STEPS.find((seconds) => seconds * SECOND * most >= whole) ?? Math.ceil(whole / SECOND / most));
  if (drawing.dataset.step !== String(step)) {
    drawing.dataset.step = String(step);
    for (const old of drawing.querySelectorAll(".tick, line[x1]")) old.remove();
  }
  const texts = [...drawing.querySelectorAll(".tick")];
  const lines = [...drawing.querySelectorAll("line[x1]")];
  const room = (whole * LABEL) / Math.max(LABEL, drawing.clientWidth);
  const first = Math.max(0, Math.ceil((Number(drawing.dataset.own ?? 0) - begin) / step)); // what a fork shares was at other times
  for (let place = first; place * step < whole - room || place === first; place += 1) {
    const x = `${(place * step / whole) * 100}%`;
    const [text, line] = [texts[place - first] ?? drawn(drawing, "text"), lines[place - first] ?? drawn(drawing, "line")];
    text.setAttribute("x", x);
    for (const name of ["x1", "x2"]) line.setAttribute(name, x);
    if (texts[place - first]) continue;
    text.setAttribute("class", "tick");
    text.setAttribute("dx", "2");
    text.setAttribute("y", "13");
    const form = new Intl.DateTimeFormat(document.documentElement.lang, { ...(step < 60 * SECOND ? WALL.second : WALL.minute), hourCycle: "h23" });
    text.textContent = form.format(new Date(begin + place * step));
    line.setAttribute("class", "rule");
    line.setAttribute("y1", "18");
    line.setAttribute("y2", drawing.getAttribute("height"));
  }
}

function drawn(drawing, name) {
  const element = document.createElementNS(drawing.namespaceURI, name);
  drawing.insertBefore(element, drawing.querySelector("a, line:not([x1]), rect.gantt-bar"));
  return element;
}
