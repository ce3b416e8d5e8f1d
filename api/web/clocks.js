// Clocks: times since something began, relative times, and the reader's local time.

/** The time from `began` to a moment: `0:42`, `1:02:03`. */
export function clocked(began, moment = Date.now()) {
  const seconds = Math.max(0, Math.floor((new Date(moment) - new Date(began)) / 1000));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
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
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** Shows relative times in the reader's language. The exact time is the tooltip. */
export function since(root) {
  const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { style: "narrow" });
  for (const time of root.querySelectorAll("time[data-ago]")) {
    const at = new Date(time.dateTime);
    const seconds = Math.max(0, (Date.now() - at) / 1000);
    const [unit, length] = UNITS.find(([, found]) => seconds >= found) ?? UNITS.at(-1);
    time.title = at.toLocaleString(document.documentElement.lang);
    time.textContent = words.format(-Math.floor(seconds / length), unit);
  }
}

/** Sets all running clocks of the page, and the bar of the time used. */
export function tick() {
  for (const time of document.querySelectorAll("time[data-since]")) {
    time.textContent = clocked(time.dateTime);
  }
  for (const wait of document.querySelectorAll("[data-until]")) wait.hidden = new Date(wait.dataset.until) <= Date.now();
  const clock = document.querySelector("[data-elapsed]");
  if (!clock || "replay" in document.body.dataset || !document.body.dataset.follows) return;
  const asOf = Math.min(Date.now(), Number(clock.dataset.asOf));
  clock.textContent = clocked(asOf - Number(clock.dataset.elapsed));
  const bar = clock.closest(".gauge")?.querySelector("meter");
  const elapsed = Date.now() - asOf + Number(clock.dataset.elapsed);
  if (bar && Math.abs(elapsed - bar.value) >= bar.max / BAR_STEPS) bar.value = elapsed;
}
