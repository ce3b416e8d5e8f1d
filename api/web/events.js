// The event list of a session: a window that loads more rows at both ends on scrolling. The server filters it. New rows
// never move the reader's position.

const MOST = 240;
const NEAR = 8;
const EXTEND_AT = 400;
const GAP = 12;
const SIDES = { earlier: "upto", later: "from" };

/** For tabs without a list. */
const NO_LIST = { toward: () => {}, bring: () => {}, filtered: () => [], mark: () => {}, renew: () => {}, toEnd: () => {}, visit: () => {} };

/** Sets up the list. `where` returns the shown and the newest version. */
export function listOfEvents({ find, fill, pieces, announce, told, where }) {
  if (!find("[data-rows]")) return NO_LIST;
  let atNewest = where.at === null;
  let extending = false;
  let unread = 0;
  const box = () => find("[data-rows] [data-scroll]");
  const listed = () => [...document.querySelectorAll("[data-row]")];
  const number = (row) => Number(row?.dataset.row ?? 0);
  const atEnd = () => atNewest && box().scrollTop > -NEAR;

  function filtered() {
    return [...new FormData(find("[data-filter]"))].filter(([name]) => name === "role" || name === "highlights");
  }

  function rowsOf(html) {
    return pieces(html).flatMap((node) => [...(node.querySelectorAll?.("[data-row]") ?? [])]);
  }

  /** Loads the rows around an event, or the newest rows. */
  async function around(version) {
    const query = [...filtered(), ...(version === null ? [] : [["at", version]])];
    const found = await told("/rows", query);
    fill([find("[data-rows]"), pieces(found.rows)]);
    atNewest = version === null;
    if (atNewest) seen();
    mark();
  }

  function mark() {
    for (const row of listed()) {
      const version = number(row);
      for (const found of row.querySelectorAll(".number, .unfold")) found.tabIndex = -1;
      row.classList.toggle("is-later", where.at !== null && version > where.at);
      if (version === where.at) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  /** Loads the rows around an event unless they are loaded. */
  async function toward(version) {
    const rows = listed();
    const [first, last] = [number(rows[0]), number(rows.at(-1))];
    const before = version < first && !find('[data-more="earlier"]').hidden;
    if (before || (version > last && !atNewest)) await around(version);
  }

  /** Puts the row of the shown event into a list that leaves it out, and removes the row of the one shown before. */
  function visit(version, html) {
    for (const row of document.querySelectorAll("[data-guest]")) if (number(row) !== version) row.remove();
    if (listed().some((row) => number(row) === version)) return;
    const [guest] = rowsOf(html);
    const next = listed().find((row) => number(row) > version);
    guest.dataset.guest = "";
    still((frame) => (next ? next.before(guest) : frame.querySelector(".rows").append(guest)));
  }

  /** Scrolls the row of an event into view without moving the page; to the top of the list if requested. */
  async function bring(version, { first = false } = {}) {
    await toward(version);
    const row = listed().findLast((found) => number(found) <= version);
    const frame = box();
    if (!row || !frame) return;
    const [here, there] = [row.getBoundingClientRect(), frame.getBoundingClientRect()];
    if (first) frame.scrollTop += here.top - there.top;
    else if (here.top < there.top || here.bottom > there.bottom) {
      frame.scrollTop += here.top - there.top - (there.height - here.height) / 2;
    }
  }

  // -- growing ------------------------------------------------------------------------------------------------------

  /** Changes the list and keeps the first visible row in place. */
  function still(change) {
    const frame = box();
    const top = frame.getBoundingClientRect().top;
    const anchor = listed().find((row) => row.getBoundingClientRect().bottom > top);
    const before = anchor?.getBoundingClientRect().top;
    change(frame);
    if (anchor?.isConnected) frame.scrollTop += anchor.getBoundingClientRect().top - before;
  }

  /** The next version beyond one end of the list; 0 if there are no more. */
  function point(side, version) {
    const link = find(`[data-more="${side}"]`);
    link.hidden = !version;
    link.dataset.window = String(version);
    const address = new URL(link.href);
    address.searchParams.set("at", String(version));
    link.href = address.href;
    link.querySelector("[data-number]").textContent = String(version);
  }

  function dropEarliest() {
    const rows = listed();
    if (rows.length <= MOST) return;
    for (const row of rows.slice(0, -MOST)) row.remove();
    point("earlier", number(listed()[0]) - 1);
  }

  function dropLatest() {
    const rows = listed();
    if (rows.length <= MOST) return;
    for (const row of rows.slice(MOST)) row.remove();
    atNewest = false;
    point("later", number(listed().at(-1)) + 1);
  }

  /** Loads more rows at the end that the reader approaches. */
  async function extend(side) {
    const link = find(`[data-more="${side}"]`);
    if (extending || !link || link.hidden) return;
    extending = true;
    try {
      const found = await told("/rows", [...filtered(), [SIDES[side], link.dataset.window]]);
      if (!link.isConnected) return;
      const fresh = rowsOf(found.rows);
      still((frame) => {
        const list = frame.querySelector(".rows");
        if (side === "earlier") list.prepend(...fresh);
        else list.append(...fresh);
        point(side, found[side]);
        if (side === "earlier") dropLatest();
        else dropEarliest();
      });
      atNewest ||= side === "later" && !found.later;
      mark();
    } finally {
      extending = false;
    }
  }

  // -- live ---------------------------------------------------------------------------------------------------------

  /** Adds new rows. A reader at the end follows them; a reader further up stays in place and sees their number. */
  function append(html) {
    const last = number(listed().at(-1));
    const rows = rowsOf(html).filter((row) => number(row) > last);
    if (!rows.length) return;
    const frame = box();
    frame.querySelector(".none")?.remove();
    if (atEnd()) {
      frame.querySelector(".rows").append(...rows);
      dropEarliest();
    } else {
      still(() => {
        frame.querySelector(".rows").append(...rows);
        dropLatest();
      });
      unseen(rows.length);
    }
    announce(document);
  }

  function unseen(count) {
    unread += count;
    find("[data-fresh]").hidden = false;
    find("[data-fresh-count]").textContent = String(unread);
  }

  function seen() {
    unread = 0;
    find("[data-fresh]").hidden = true;
  }

  /** Called after an update with the new rows; `first` for the first update of this page. */
  function renew(html, { first }) {
    if (first) {
      fill([find("[data-rows]"), pieces(html)]);
      atNewest = true;
    } else if (atNewest) append(html);
    else if (rowsOf(html).length) unseen(rowsOf(html).length);
  }

  async function toEnd() {
    if (!atNewest) await around(null);
    box().scrollTop = 0;
    seen();
  }

  /** Expands the details of an event below its row, or collapses them. */
  async function unfold(link) {
    const row = link.closest("[data-row]");
    const shown = row.querySelector(".unfolded");
    link.setAttribute("aria-expanded", String(!shown));
    if (shown) return shown.remove();
    const place = document.createElement("div");
    place.className = "unfolded";
    row.append(place);
    const answer = await fetch(link.href, { headers: { Accept: "application/json" } });
    if (!answer.ok) return location.assign(link.href);
    place.replaceChildren(...pieces((await answer.json()).html));
    if (atEnd()) row.scrollIntoView({ block: "nearest" });
    return undefined;
  }

  // -- input and layout ---------------------------------------------------------------------------------------------

  /** Sets the height that the list must leave free, so that it ends above the player. */
  function fit() {
    const [columns, card, frame, player] = [".columns", "#events", "#events [data-scroll]", "[data-player]"].map(find);
    const [outer, inner] = [card.getBoundingClientRect(), frame.getBoundingClientRect()];
    const above = columns.getBoundingClientRect().top + scrollY;
    const around = outer.height - inner.height;
    columns.style.setProperty("--taken", `${Math.ceil(above + around + player.offsetHeight) + GAP}px`);
  }

  fit();
  const watched = new ResizeObserver(() => requestAnimationFrame(fit));
  for (const found of ["main", "#events", "[data-player]"]) watched.observe(find(found));

  find("[data-filter]").addEventListener("change", () => around(where.at));

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-unfold]");
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    unfold(link).catch(() => link.setAttribute("aria-expanded", "false"));
  });

  document.addEventListener(
    "scroll",
    (event) => {
      const frame = event.target;
      if (frame !== box()) return;
      if (atEnd()) seen();
      if (-frame.scrollTop < EXTEND_AT) extend("later");
      else if (frame.scrollHeight - frame.clientHeight + frame.scrollTop < EXTEND_AT) extend("earlier");
    },
    { capture: true, passive: true },
  );

  return { around, bring, filtered, mark, renew, toEnd, toward, visit };
}
