// Notices of the browser for what begins to wait for a person, once somebody has asked for them. Then a hidden page that
// lists what waits goes on reading; without this, hidden pages ask for nothing.

const WANTED = "hansard-notices";

/** `words` are the page's. Answers whether notices are wanted, and what shows those of a page that came in. */
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

  /** By session: what waits, as its row says it. */
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

  /** Says what a page has that the last one had not; who looks at it needs no notice. */
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
