// Forms that navigate to another page after the server has accepted them.

import { renewKey, sent } from "./sending.js";

/** Submits such forms and follows the answer. Errors are shown in the form. */
export function going({ words }) {
  async function send(form, button) {
    const place = form.querySelector("[role=alert]");
    place.textContent = words.sending;
    try {
      const told = await sent(form, button?.name ? { [button.name]: button.value } : {});
      if (told.to) return location.assign(told.to);
      place.textContent = [told.words, ...Object.values(told.errors)].join(" ");
    } catch {
      place.textContent = words.unreachable;
    }
    return undefined;
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-goes]")) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });

  document.addEventListener("input", ({ target }) => {
    const form = target.closest("form[data-goes]");
    if (form) renewKey(form);
  });
}
