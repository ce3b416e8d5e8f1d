// What the agent of the shown turn does right now, line by line. Hidden tabs make no requests.

const STEPS = 15;
const PAUSE_MS = 500;

/** Keeps the list of a running turn up to date. */
export function living() {
  let list = null;
  let seq = 0;

  async function look() {
    const found = document.hidden ? null : document.querySelector("[data-activity]");
    if (found !== list) [list, seq] = [found, 0];
    if (list) await bring(list).catch(() => {}); // the page itself says that there is no server
    setTimeout(look, PAUSE_MS);
  }

  async function bring(into) {
    const answer = await fetch(`${into.dataset.activity}?after=${seq}`, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { items } = await answer.json();
    if (seq === 0) into.replaceChildren();
    for (const frame of items) {
      seq = frame.seq;
      show(into, frame);
    }
    while (into.children.length > STEPS) into.firstElementChild.remove();
  }

  look();
}

/** A call has one line: its end completes its beginning. */
function show(into, frame) {
  const words = frame.title ?? frame.text?.trim().split("\n").at(-1);
  const call = frame.kind === "tool" ? frame.id : undefined;
  let line = call && [...into.children].find((found) => found.dataset.call === call);
  if (!line) {
    if (!words) return;
    line = document.createElement("li");
    if (call) line.dataset.call = call;
    line.dataset.words = words.slice(0, 300);
    into.append(line);
  }
  line.textContent = line.dataset.words + ended(frame);
}

function ended(frame) {
  if (frame.status === "denied") return " ⊘";
  if (frame.status !== "failed") return "";
  return frame.exitCode ? ` ✕ ${frame.exitCode}` : " ✕";
}
