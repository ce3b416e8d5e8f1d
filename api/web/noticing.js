// Opt-in browser notifications for new items that need a person. With them a hidden inbox page keeps its stream; other
// hidden pages request nothing.

const WANTED = "hansard-notices";

/** `words` are the page's messages. Returns whether notifications are on, and a function that shows those of an update.
    */
export function noticing({ words }) {
  const button = document.querySelector("[data-notices]");
  const can = "Notification" in globalThis && isSecureContext;
  let known = waiting(document);

  function wanted() {
    return can && Boolean(button) && Notification.permission === "granted" && localStorage.getItem(WANTED) === "yes";
  }

  function place() {
    if (!can || !button) return;
    button.hidden = Notification.permission === "denied";
    button.setAttribute("aria-pressed", String(wanted()));
  }

  /** Waiting items by session, worded as in their rows. */
  function waiting(page) {
    const rows = [...page.querySelectorAll("[data-waits]")];
    return new Map(rows.map((row) => [row.dataset.waits, row]));
  }

  function show(row) {
    const [title, body] = [".what > a, h2 a", ".why, .words"].map((found) => row.querySelector(found)?.textContent.trim() ?? "");
    const notice = new Notification(`${words.waits}: ${title}`, { body, tag: row.dataset.waits });
    notice.onclick = () => {
      window.focus();
      location.assign(row.querySelector("a").href);
    };
  }

  /** Notifies of items that are new in this update, unless the page is visible. */
  function seen(fresh) {
    const found = waiting(fresh);
    if (wanted() && document.hidden) for (const [name, row] of found) if (!known.has(name)) show(row);
    known = found;
  }

  button?.addEventListener("click", async () => {
    const on = !wanted();
    if (on) await Notification.requestPermission();
    localStorage.setItem(WANTED, on ? "yes" : "no");
    place();
  });
  place();
  return { wanted, seen };
}
