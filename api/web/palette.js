// Keyboard shortcuts: Ctrl K finds pages and sessions, ? lists the keys, digits open tabs, J and K move between rows.

import { TYPED } from "./sending.js";

const WAIT_MS = 150;
const FOUND = 8;
const ROWS = ".sessions .what > a, [data-row] a.unfold, .turn-list a";

export function palette() {
  const box = document.getElementById("palette");
  const keys = document.getElementById("keys");
  if (!box) return;
  const field = box.querySelector("input");
  const list = box.querySelector("[data-found]");
  const places = [...box.querySelectorAll("[data-place]")];
  let planned = null;
  let asked = "";

  function open() {
    if (!box.open) box.showModal();
    field.select();
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
    if (!words) return list.replaceChildren();
    const query = new URLSearchParams({ q: words, limit: String(FOUND) });
    const answer = await fetch(`/api/sessions?${query}`, { headers: { Accept: "application/json" } });
    if (!answer.ok || asked !== words) return undefined;
    const { items } = await answer.json();
    const named = ({ id, title }) => `${title} ${id}`.toLowerCase().includes(words);
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

  /** Moves the focus to the next of these elements. */
  function step(among, by) {
    const at = among.indexOf(document.activeElement);
    const next = among[at < 0 && by < 0 ? among.length - 1 : Math.min(among.length - 1, Math.max(0, at + by))];
    next?.focus();
  }

  const single = {
    "?": () => keys.showModal(),
    j: () => step([...document.querySelectorAll(ROWS)], 1),
    k: () => step([...document.querySelectorAll(ROWS)], -1),
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return open();
    }
    if (event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return undefined;
    if (event.target.closest(TYPED)) return undefined;
    const tab = document.querySelectorAll(".views a:not(.aside, .beside-it)")[Number(event.key) - 1];
    if (tab) return tab.click();
    return single[event.key]?.();
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
