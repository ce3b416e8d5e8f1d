// Submits a form as the browser would, but gets the answer as JSON. The server validates the input and words the errors
// in the reader's language.

const words = JSON.parse(document.body.dataset.words);

/** A form that is sent twice is one command: it keeps its idempotency key until the server has accepted it. */
function keyOf(form) {
  form.dataset.key ??= [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  return form.dataset.key;
}

/** Makes a new key after a change or an answer: the next submit is another command. */
export function renewKey(form) {
  delete form.dataset.key;
  delete form.dataset.seen;
}

/** Submits a form with the additional fields `more`. Returns the next URL (`to`), or the errors: `words` for the whole
    form, `errors` by field name. Throws TypeError if the server cannot be reached. */
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
