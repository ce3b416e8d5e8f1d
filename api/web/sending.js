// Sends a form as the browser itself would, but for the answer, which comes as JSON: the server reads what is typed, and
// says what was wrong with it in the reader's language.

/** Fields in which letters are written. */
export const TYPED = "input:not([type=range], [type=checkbox], [type=radio]), select, textarea";

const words = JSON.parse(document.body.dataset.words);

/** The same form sent twice is one command: the key stays until the server has taken it. */
function keyOf(form) {
  form.dataset.key ??= [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  return form.dataset.key;
}

/** What is typed has changed, or the server has answered: from here on it is another command. */
export function renewKey(form) {
  delete form.dataset.key;
  delete form.dataset.seen;
}

/** Where the reader goes from here (`to`), or what was wrong: `words` with the whole, `errors` by the names of fields.
    `more` are fields that the form has not; the version that was seen stays with the key. Raises TypeError: there is no
    server. */
export async function sent(form, more = {}) {
  const fields = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries({ ...more, key: keyOf(form) })) fields.set(name, value);
  if (more.version) fields.set("version", (form.dataset.seen ??= more.version));
  const answer = await fetch(form.action, { method: "POST", headers: { Accept: "application/json" }, body: fields });
  if (answer.status < 500) renewKey(form);
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return { status: answer.status, to: told.to };
  return { status: answer.status, words: told.words ?? told.detail ?? words.unreachable, errors: told.errors ?? {} };
}
