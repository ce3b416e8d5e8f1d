// Keyboard shortcuts: Ctrl K finds pages and sessions, ? lists the keys, digits open tabs, J and K move between rows, A
// and D answer the question of a row.

import { keyName, lettersAreOn, shortcut, switchLetters } from "./keys.js";

const WAIT_MS = 150;
const FOUND = 8;
const ROWS = ".sessions .what > a, [data-row] a.unfold, .turn-list a";
const ASKING = "[data-waits], .of-child";

export function palette() {
  const box = document.getElementById("palette");
  const keys = document.getElementById("keys");
  if (!box) return;
  const field = box.querySelector("input");
  const list = box.querySelector("[data-found]");
  const nothing = box.querySelector("[data-nothing]");
  const places = [...box.querySelectorAll("[data-place]")];
  let planned = null;
  let asked = "";

  function open() {
    if (!box.open) box.showModal();
    field.select();
    if (!field.value) find("").catch(() => {});
  }

  /** Pages by name, then the sessions that the server finds, matching titles first. */
  function look() {
    const words = field.value.trim().toLowerCase();
    for (const place of places) place.hidden = words !== "" && !place.textContent.toLowerCase().includes(words);
    clearTimeout(planned);
    planned = setTimeout(() => find(words).catch(() => {}), WAIT_MS);
  }

  async function find(words) {
    asked = words;
    nothing.hidden = true;
    const query = new URLSearchParams({ limit: String(FOUND) });
    if (words) query.set("q", words);
    const answer = await fetch(`/api/sessions?${query}`, { headers: { Accept: "application/json" } });
    if (!answer.ok || asked !== words) return undefined;
    const { items } = await answer.json();
    const named = ({ id, title }) => `${title} ${id}`.toLowerCase().includes(words);
    nothing.hidden = !words || items.length > 0 || places.some((place) => !place.hidden);
    return list.replaceChildren(...[...items.filter(named), ...items.filter((one) => !named(one))].map(line));
  }

  function line({ id, title }) {
    const [row, link, small] = ["li", "a", "span"].map((name) => document.createElement(name));
    link.href = `/sessions/${encodeURIComponent(id)}`;
    link.textContent = title || id;
    small.className = "small";
    small.textContent = ` ${id}`;
    row.append(link, small);
    return row;
  }

  const links = () => [...box.querySelectorAll("a")].filter((link) => link.checkVisibility());

  /** Moves the focus to the next of these elements, or from the place `from` if none of them has it. */
  function step(among, by, from = by < 0 ? among.length : -1) {
    const at = among.indexOf(document.activeElement);
    among[Math.min(among.length - 1, Math.max(0, (at < 0 ? from : at) + by))]?.focus();
  }

  /** Moves to the next row: from the current one, or into what is visible of the list. */
  function stepRows(by) {
    const rows = [...document.querySelectorAll(ROWS)];
    const current = rows.findIndex((row) => row.closest("[aria-current]"));
    const visible = by > 0 ? rows.findIndex(isVisible) - 1 : rows.findLastIndex(isVisible) + 1;
    step(rows, by, current < 0 ? visible : current);
  }

  function isVisible(row) {
    const [here, list] = [row.getBoundingClientRect(), row.closest("[data-scroll], .list")?.getBoundingClientRect()];
    return here.height > 0 && here.top >= Math.max(0, list?.top ?? 0) && here.bottom <= Math.min(innerHeight, list?.bottom ?? innerHeight);
  }

  /** Opens the row that has the focus at its answer; the same key, or Enter, then sends it. Other keys leave it. */
  function answer(decision) {
    const row = document.activeElement.closest(ASKING);
    const button = row?.querySelector(`button[name=decision][value=${decision}]`);
    if (!button) return row?.querySelector("[data-review]")?.click();
    if (button === document.activeElement && "sure" in button.dataset) {
      ask(null);
      return button.click();
    }
    return ask(button);
  }

  /** Asks for the second key at this button; at none, takes the question back. */
  function ask(button) {
    for (const each of document.querySelectorAll("[data-sure]")) delete each.dataset.sure;
    if (!button) return;
    button.closest("details")?.setAttribute("open", "");
    button.focus();
    button.dataset.sure = "";
    const words = JSON.parse(document.body.dataset.words).again;
    const place = button.form.querySelector("[role=alert]");
    if (place) place.textContent = words.replace("{what}", button.textContent.trim()).replace("{key}", button.value === "allow" ? "A" : "D");
    button.addEventListener("blur", () => taken(button, place), { once: true });
  }

  function taken(button, place) {
    delete button.dataset.sure;
    if (place) place.textContent = "";
  }

  const single = {
    "?": () => keys.showModal(),
    j: () => stepRows(1),
    k: () => stepRows(-1),
    a: () => answer("allow"),
    d: () => answer("deny"),
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && keyName(event) === "k") {
      event.preventDefault();
      return open();
    }
    const key = shortcut(event);
    const tab = document.querySelectorAll(".views > a")[Number(key) - 1];
    return tab ? tab.click() : single[key]?.();
  });

  box.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      step([field, ...links()], by);
    } else if (event.key === "Enter" && event.target === field && field.value) {
      event.preventDefault();
      const first = links()[0];
      if (first) first.click();
      else location.assign(`/?${new URLSearchParams({ q: field.value })}`);
    }
  });

  const letters = keys.querySelector("[data-letters]");
  if (letters) {
    letters.checked = lettersAreOn();
    letters.addEventListener("change", () => switchLetters(letters.checked));
  }

  box.addEventListener("cancel", () => (field.value = "")); // one Escape closes, whatever is typed
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    box.close();
  });
  field.addEventListener("input", look);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette]")) {
      event.preventDefault();
      open();
    } else if (event.target === box || event.target === keys) {
      box.close();
      keys.close();
    }
  });
}
