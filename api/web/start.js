// Submits the form that starts a session, shows each error at its field, and what is known before the start.

import { renewKey, sent } from "./sending.js";

const fields = (form) => [...form.querySelectorAll("[data-reads]")];

function mark(field, sentence) {
  document.getElementById(`${field.id}-error`).textContent = sentence;
  field.setAttribute("aria-invalid", "true");
  field.closest("details.more")?.setAttribute("open", "");
}

function clear(form) {
  for (const field of fields(form)) {
    document.getElementById(`${field.id}-error`).textContent = "";
    field.removeAttribute("aria-invalid");
  }
}

function say(form, sentence, { sending = false } = {}) {
  const place = form.querySelector("[role=alert]");
  place.textContent = sentence;
  place.classList.toggle("is-sending", sending);
}

async function send(form, words) {
  clear(form);
  const buttons = [...form.querySelectorAll("button")];
  for (const each of buttons) each.disabled = true;
  say(form, words.sending, { sending: true });
  try {
    const told = await sent(form);
    if (told.to) return location.assign(told.to);
    for (const field of fields(form)) if (told.errors[field.name]) mark(field, told.errors[field.name]);
    say(form, told.words);
    form.querySelector("[aria-invalid]")?.focus();
  } catch {
    say(form, words.unreachable);
  } finally {
    for (const each of buttons) each.disabled = false;
  }
  return undefined;
}

// -- what is known before ----------------------------------------------------------------------------------------------

const AT_REST_MS = 300;
const LONGEST = 4000;
/** Fields that what is known depends on; the command depends on all. */
const DECISIVE = ["workspace", "validationCommands", "testCommand", "employees", "scenario"];

/** What is asked for: everything typed, or without what is too long for an address. */
function question(form, decisive) {
  const query = new URLSearchParams(new FormData(form));
  query.delete("key");
  if (!decisive) query.set("part", "command");
  const whole = query.toString().length <= LONGEST;
  if (!whole) for (const { name } of fields(form)) if (!DECISIVE.includes(name)) query.delete(name);
  return { query, whole };
}

/** Untouched fields show the settings of the repository, which then apply. */
function leave(form, settings) {
  for (const field of fields(form)) {
    const usual = settings[field.name];
    const untouched = field.value === field.defaultValue;
    if (usual !== undefined && (untouched || "left" in field.dataset)) {
      field.placeholder = usual;
      if (untouched) field.value = "";
      field.dataset.left = "";
    } else if (usual === undefined && "left" in field.dataset) {
      field.placeholder = "";
      if (!field.value) field.value = field.defaultValue;
      delete field.dataset.left;
    }
  }
}

/** Asks again what is known. Of many answers, the last one asked for counts: of the facts, and of the command. */
async function know(form, asked, { pieces, decisive = true }) {
  const { query, whole } = question(form, decisive);
  const number = (asked.command += 1);
  if (decisive) asked.facts = number;
  const answer = await fetch(`/start?${query}`, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const told = await answer.json();
  if (decisive && asked.facts === number) {
    form.querySelector("[data-before]").replaceChildren(...pieces(told.before));
    leave(form, told.settings);
  }
  if (asked.command !== number) return;
  const place = form.querySelector("[data-as-command]");
  place.querySelector("code").textContent = told.command;
  place.hidden = !whole || !form.querySelector("[required]").value.trim();
}

/** While the panel lies over the page, the keyboard does not go to what is below it. */
function covering() {
  const panel = document.querySelector("#start");
  const wide = matchMedia("(min-width: 761px)");
  const set = () => {
    const below = document.querySelectorAll("main > :not(.page-head), .page-head > :not(#start)");
    for (const each of below) each.inert = panel.open && wide.matches;
  };
  panel.addEventListener("toggle", set);
  wide.addEventListener("change", set);
  set();
}

/** Sets up the forms that start sessions. */
export function starting({ words, pieces }) {
  const asked = new Map([...document.querySelectorAll("form[data-start]")].map((form) => [form, { facts: 0, command: 0 }]));
  const quietly = (form, more) => know(form, asked.get(form), { pieces, ...more }).catch(() => {});
  for (const form of asked.keys()) {
    let waiting = null;
    let decisive = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form, words);
    });
    form.addEventListener("input", ({ target }) => {
      renewKey(form);
      decisive ||= DECISIVE.includes(target.name);
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        quietly(form, { decisive });
        decisive = false;
      }, AT_REST_MS);
    });
    form.addEventListener("click", (event) => {
      const offered = event.target.closest("[data-folder]");
      if (!offered) return;
      event.preventDefault();
      clearTimeout(waiting);
      form.elements.workspace.value = offered.dataset.folder;
      renewKey(form);
      quietly(form);
    });
  }
  covering();
  document.addEventListener("keydown", (event) => {
    const panel = event.key === "Escape" && document.querySelector("#start[open]");
    if (!panel || document.querySelector("dialog[open]")) return;
    panel.open = false;
    panel.querySelector("summary").focus();
  });
  document.addEventListener(
    "toggle",
    ({ target }) => {
      if (!target.matches("#start, .start-kind") || !target.open) return;
      const form = target.querySelector(".start-kind[open] form[data-start]") ?? target.querySelector(":scope > form[data-start]");
      if (form && !form.querySelector("[data-before] > *")) quietly(form);
    },
    { capture: true },
  );
}
