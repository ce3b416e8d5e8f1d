// Sends the form that starts a session, and shows what the server says of it at the field that it is about.

/** What is typed in a field, as JSON; undefined for nothing. Raises SyntaxError for what should be JSON and is not. */
function read(field) {
  const typed = field.value.trim();
  if (field.dataset.reads === "switch") return field.checked ? { enabled: true } : undefined;
  if (!typed) return undefined;
  const lines = () => typed.split("\n").map((line) => line.trim()).filter(Boolean);
  switch (field.dataset.reads) {
    case "number":
      return field.valueAsNumber;
    case "lines":
      return lines();
    case "people":
      return lines().map(person);
    case "json":
      return JSON.parse(typed);
    default:
      return typed;
  }
}

function person(line) {
  const at = line.lastIndexOf(":");
  return at < 0 ? { name: line } : { name: line.slice(0, at).trim(), role: line.slice(at + 1).trim() };
}

const fields = (form) => [...form.querySelectorAll("[data-reads]")];

/** The request; what belongs to a switch is sent only while it is on. */
function bodyOf(form) {
  const body = { kind: form.dataset.start };
  for (const field of fields(form)) {
    const [name, inner] = field.name.split(".");
    let value;
    try {
      value = read(field);
    } catch (error) {
      mark(field, `${form.dataset.notJson} ${error.message}`);
    }
    if (value === undefined) continue;
    if (!inner) body[name] = value;
    else if (body[name]) body[name][inner] = value;
  }
  return body;
}

function mark(field, sentence) {
  const place = document.getElementById(`${field.id}-error`);
  place.textContent = place.textContent ? `${place.textContent}; ${sentence}` : sentence;
  field.setAttribute("aria-invalid", "true");
  field.closest("details.more")?.setAttribute("open", "");
}

function clear(form) {
  for (const field of fields(form)) {
    document.getElementById(`${field.id}-error`).textContent = "";
    field.removeAttribute("aria-invalid");
  }
  say(form, "");
}

function say(form, sentence, { sending = false } = {}) {
  const place = form.querySelector("[role=alert]");
  place.textContent = sentence;
  place.classList.toggle("is-sending", sending);
}

/** `/filePaths/1` → the field `filePaths` and what to put before the sentence, counted as people do. */
function place(form, pointer) {
  const parts = pointer.split("/").slice(1);
  for (let length = parts.length; length > 0; length -= 1) {
    const name = parts.slice(0, length).join(".");
    const field = fields(form).find((each) => each.name === name);
    const rest = parts.slice(length).map((part) => (/^\d+$/.test(part) ? Number(part) + 1 : part));
    if (field) return { field, before: rest.length ? `${rest.join(" ")}: ` : "" };
  }
  return null;
}

function show(form, problem, status) {
  const elsewhere = [];
  for (const { pointer, detail } of problem.errors ?? []) {
    const found = place(form, pointer);
    if (found) mark(found.field, found.before + detail);
    else elsewhere.push(detail);
  }
  const told = elsewhere.join("; ") || (problem.errors?.length ? form.dataset.notStarted : problem.detail);
  say(form, told || String(status));
  form.querySelector("[aria-invalid]")?.focus();
}

async function send(form, words, keyOf) {
  clear(form);
  const body = bodyOf(form);
  if (form.querySelector("[aria-invalid]")) {
    show(form, { detail: form.dataset.notStarted }, "");
    return;
  }
  const buttons = [...form.querySelectorAll("button")];
  for (const each of buttons) each.disabled = true;
  say(form, words.sending, { sending: true });
  try {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": keyOf(form) };
    const answer = await fetch("/api/sessions", { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.status < 500) delete form.dataset.key;
    const told = await answer.json().catch(() => ({}));
    if (answer.ok) location.assign(`/sessions/${encodeURIComponent(told.sessionId)}${language()}`);
    else show(form, told, answer.status);
  } catch {
    say(form, words.unreachable);
  } finally {
    for (const each of buttons) each.disabled = false;
  }
}

/** A language that was asked for stays. */
function language() {
  const asked = new URLSearchParams(location.search).get("lang");
  return asked ? `?lang=${encodeURIComponent(asked)}` : "";
}

/** Takes over the forms that start sessions. */
export function starting({ words, keyOf }) {
  for (const form of document.querySelectorAll("form[data-start]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form, words, keyOf);
    });
    form.addEventListener("input", () => {
      delete form.dataset.key;
    });
  }
}
