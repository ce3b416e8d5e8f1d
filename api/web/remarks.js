// Comments on lines: a click on a line number opens the form of the file under that line, a drag over several numbers
// takes all of them, and C opens the form at the line in the middle of the window.

import { shortcut } from "./keys.js";

const NUMBER = ".n[data-line]";

export function remarks() {
  let first = null;

  const fileOf = (number) => number.closest("details.file");

  /** Puts the form of the file below these lines, and the caret into it. */
  function open(from, to) {
    const file = fileOf(from);
    const box = document.querySelector(`.commenting[data-path="${CSS.escape(file?.dataset.path ?? "")}"]`);
    if (!box) return;
    const [low, high] = [from, to].sort((one, other) => Number(one.dataset.line) - Number(other.dataset.line));
    const fields = box.querySelector("form").elements;
    fields.line.value = low.dataset.line;
    fields.endLine.value = high === low ? "" : high.dataset.line;
    fields.side.value = low.dataset.side;
    mark(file, low, high);
    high.closest(".line").after(box);
    box.open = true;
    fields.text.focus();
  }

  function mark(file, low, high) {
    for (const each of document.querySelectorAll(".n.is-marked")) each.classList.remove("is-marked");
    const [begin, end] = [Number(low.dataset.line), Number(high.dataset.line)];
    for (const each of file.querySelectorAll(`${NUMBER}[data-side="${low.dataset.side}"]`)) {
      const line = Number(each.dataset.line);
      if (line >= begin && line <= end) each.classList.add("is-marked");
    }
  }

  function numberAt({ target }) {
    return target.closest?.(NUMBER) ?? null;
  }

  document.addEventListener("pointerdown", (event) => {
    first = event.button === 0 ? numberAt(event) : null;
  });

  document.addEventListener("pointerup", (event) => {
    const last = document.elementFromPoint(event.clientX, event.clientY)?.closest(NUMBER);
    const fits = first && last && fileOf(first) === fileOf(last) && first.dataset.side === last.dataset.side;
    if (fits) open(first, last);
    first = null;
  });

  /** The line number in the window that is nearest to its middle. */
  function middle() {
    const far = (number) => Math.abs(number.getBoundingClientRect().top - innerHeight / 2);
    const shown = [...document.querySelectorAll(`.line:is(.is-added, .is-removed, .is-after) > ${NUMBER}`)];
    return shown.filter((each) => each.checkVisibility()).sort((one, other) => far(one) - far(other))[0];
  }

  document.addEventListener("keydown", (event) => {
    if (shortcut(event) !== "c" || "replay" in document.body.dataset) return;
    const number = middle();
    if (!number) return;
    event.preventDefault();
    open(number, number);
  });
}
