// The list of events of a session: a window of it that grows at its end, filtered by the server, never moved by itself.

const ROWS = 400;
const NEAR_END = -8;
const GAP = 12;

/** Takes over the list; `where` says which event is shown and which is the newest. */
export function listOfEvents({ find, fill, pieces, announce, told, where }) {
  let atNewest = where.at === null;
  const box = () => find("[data-rows] [data-scroll]");
  const listed = () => [...document.querySelectorAll("[data-row]")];
  const number = (row) => Number(row?.dataset.row ?? 0);

  function filtered() {
    return [...new FormData(find("[data-filter]"))].filter(([name]) => name === "role" || name === "highlights");
  }

  /** The rows around an event, or the newest. */
  async function around(version) {
    const query = [...filtered(), ...(version === null ? [] : [["at", version]])];
    const found = await told("/rows", query);
    fill(find("[data-rows]"), pieces(found.rows));
    atNewest = version === null;
    mark();
  }

  function mark() {
    for (const row of document.querySelectorAll("[data-row]")) {
      const version = number(row);
      row.classList.toggle("is-later", where.at !== null && version > where.at);
      if (version === where.at) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  /** The row of an event into sight, without moving the page. */
  async function bring(version) {
    const rows = listed();
    const [first, last] = [number(rows[0]), number(rows.at(-1))];
    if (version < first || (version > last && !atNewest)) await around(version);
    const row = listed().findLast((found) => number(found) <= version);
    const frame = box();
    if (!row || !frame) return;
    const [here, there] = [row.getBoundingClientRect(), frame.getBoundingClientRect()];
    if (here.top < there.top || here.bottom > there.bottom) {
      frame.scrollTop += here.top - there.top - (there.height - here.height) / 2;
    }
  }

  /** New rows at the end: who stands at the end goes along, who reads further up stays and is told. */
  function append(html) {
    const fresh = pieces(html).flatMap((node) => [...(node.querySelectorAll?.("[data-row]") ?? [])]);
    const last = number(listed().at(-1));
    const rows = fresh.filter((row) => number(row) > last);
    if (!rows.length) return;
    const frame = box();
    const [top, height, atEnd] = [frame.scrollTop, frame.scrollHeight, frame.scrollTop > NEAR_END];
    frame.querySelector(".none")?.remove();
    frame.querySelector(".rows").append(...rows);
    for (const row of listed().slice(0, -ROWS)) row.remove();
    if (!atEnd) {
      frame.scrollTop = top - (frame.scrollHeight - height);
      find("[data-fresh]").hidden = false;
    }
    announce(document);
  }

  /** The page was brought up to date; `first` since it came from somewhere else. */
  function renew(html, { first }) {
    if (atNewest && !first) return append(html);
    fill(find("[data-rows]"), pieces(html));
    atNewest = true;
    return undefined;
  }

  function toEnd() {
    box().scrollTop = 0;
    find("[data-fresh]").hidden = true;
  }

  /** Tells the sheet how much of the height is not the list's, so that its end stands above the steps. */
  function fit() {
    const [columns, card, frame, player] = [".columns", "#events", "#events [data-scroll]", "[data-player]"].map(find);
    const [outer, inner] = [card.getBoundingClientRect(), frame.getBoundingClientRect()];
    const above = columns.getBoundingClientRect().top + scrollY;
    const around = outer.height - inner.height;
    columns.style.setProperty("--taken", `${Math.ceil(above + around + player.offsetHeight) + GAP}px`);
  }

  const watched = new ResizeObserver(() => requestAnimationFrame(fit));
  for (const found of ["main", "#events", "[data-player]"]) watched.observe(find(found));

  find("[data-filter]").addEventListener("change", () => around(where.at));

  document.addEventListener(
    "scroll",
    (event) => {
      if (event.target === box() && event.target.scrollTop > NEAR_END) find("[data-fresh]").hidden = true;
    },
    { capture: true, passive: true },
  );

  return { around, bring, filtered, mark, renew, toEnd };
}
