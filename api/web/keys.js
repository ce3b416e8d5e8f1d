// Which shortcut a key press is.

const TYPED = "input:not([type=range], [type=checkbox], [type=radio]), select, textarea";
const LETTER = /^Key([A-Z])$/;

/** The name of a key. A letter is the one on the keyboard, also while the keyboard writes Hangul. */
export function keyName({ key, code }) {
  const written = key.length === 1 ? key.toLowerCase() : key;
  const foreign = key === "Process" || (key.length === 1 && key > "~");
  return foreign ? (LETTER.exec(code)?.[1].toLowerCase() ?? written) : written;
}

const OFF = "hansard-letters";

/** Whether letter keys and digits do anything without Ctrl: each reader can switch them off. */
export const lettersAreOn = () => localStorage.getItem(OFF) !== "off";

export function switchLetters(on) {
  localStorage.setItem(OFF, on ? "on" : "off");
}

/** The name of a key; empty if it is for the browser, for a field or for a dialog. */
export function shortcut(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return "";
  const name = event.target.closest(TYPED) ? "" : keyName(event);
  return name.length === 1 && name !== " " && !lettersAreOn() ? "" : name;
}
