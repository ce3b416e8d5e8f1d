// Submits the form that starts a session, and shows each error at its field.

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

/** Sets up the forms that start sessions. */
export function starting({ words }) {
  for (const form of document.querySelectorAll("form[data-start]")) {
    form.addEventListener("submit", (event) => {
      if (event.submitter?.hasAttribute("formmethod")) return; // the page again, with the command that does the same
      event.preventDefault();
      send(form, words);
    });
    form.addEventListener("input", () => {
      renewKey(form);
      form.querySelector("[data-as-command]").hidden = true; // it was of what was typed before
    });
  }
}
