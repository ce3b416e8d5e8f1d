// The page of a session: its panels, live or at any event. The event list is in events.js, the player in replay.js.
// Every position has a URL, and the server renders a panel by the same code for every position.

import { listOfEvents } from "./events.js";
import { replaying } from "./replay.js";

const KEPT = 300;

/** Sets up the page. Returns the function that updates it. */
export function session({ pieces, fill, announce }) {
  const page = document.body.dataset;
  const find = (selector) => document.querySelector(selector);
  const kept = new Map();
  const shown = Number(page.version);
  /** The newest version, the shown version, and the version of the replay (null: live). */
  const where = { newest: Number(page.newest), shown, at: "replay" in page ? shown : null };
  let seen = where.at === null ? shown : 0;
  let act = null;

  // -- from the server -----------------------------------------------------------------------------------------------

  function address(path, query = {}) {
    const found = new URLSearchParams(query);
    if (page.explicit) found.set("lang", page.explicit);
    const words = found.toString();
    return `/sessions/${encodeURIComponent(page.session)}${path}${words ? `?${words}` : ""}`;
  }

  /** The open tab, the open turn or file in it, and the order of its findings. */
  const named = { tab: page.tab === "overview" ? "" : page.tab, turnId: page.turn, file: page.file, by: page.by };
  const looked = Object.fromEntries(Object.entries(named).filter(([, value]) => value));

  /** The URL of an event in the open tab. */
  function position(query = {}) {
    if (page.tab === "turns" && page.turn) return address(`/turns/${encodeURIComponent(page.turn)}`, query);
    return address("", { ...looked, ...query });
  }

  async function told(path, query) {
    const answer = await fetch(address(path, query), { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  /** The panels of a version, requested once. */
  function load(version) {
    if (!kept.has(version)) {
      const found = told("/at", { ...looked, at: version, v: page.build });
      found.catch(() => kept.delete(version));
      kept.set(version, found);
      if (kept.size > KEPT) kept.delete(kept.keys().next().value);
    }
    return kept.get(version);
  }

  // -- display -------------------------------------------------------------------------------------------------------

  function apply(found) {
    const changes = [];
    for (const part of document.querySelectorAll("[data-part]")) {
      const [hash, html] = found.panels[part.dataset.part] ?? [];
      if (!hash || hash === part.dataset.hash) continue;
      part.dataset.hash = hash;
      changes.push([part, pieces(html)]);
    }
    fill(...changes);
    where.shown = found.version;
    if (found.row) list.visit(found.version, found.row);
    page.version = String(found.version);
    document.title = found.title;
    find("[data-icon]").href = found.icon;
    find("[data-badge]").replaceChildren(...pieces(found.badge));
    find("[data-clock]").textContent = found.clock;
    for (const count of document.querySelectorAll("[data-count]")) {
      count.textContent = found.counts[count.dataset.count] ?? "";
    }
    place();
  }

  /** Updates everything that shows the position. */
  function place() {
    for (const found of document.querySelectorAll("[data-shown]")) found.textContent = String(where.shown);
    for (const found of document.querySelectorAll("[data-fork-otherwise]")) {
      const address = new URL(found.href);
      address.searchParams.set("at", where.shown);
      found.href = address.href;
    }
    for (const found of document.querySelectorAll("[data-newest-shown]")) found.textContent = String(where.newest);
    const past = where.at !== null;
    if (past) page.replay = "";
    else delete page.replay;
    dispatchEvent(new Event("hansard:place"));
    find("[data-banner]").hidden = !past;
    find("[data-act]").hidden = past;
    for (const link of document.querySelectorAll("[data-now]")) link.hidden = !past && !link.closest("[data-banner]");
    steps.place();
    list.mark();
  }

  const list = listOfEvents({ find, fill, pieces, announce, told, where });
  const steps = replaying({ find, address: position, load, apply, renew, list, where, reloadAll: () => (seen = 0) });

  // -- updates -------------------------------------------------------------------------------------------------------

  async function renew() {
    const since = seen && where.at === null ? { since: seen } : {};
    const found = await told("/at", [...Object.entries({ ...looked, ...since }), ...list.filtered()]);
    where.newest = found.newest;
    page.newest = String(found.newest);
    page.head = String(found.head);
    page.follows = found.follows;
    page.state = found.state;
    find("[data-part='needs-count']").textContent = found.needs ? String(found.needs) : "";
    find("[data-strip]").replaceChildren(...pieces(found.strip));
    find("[data-lights]").dataset.lights = JSON.stringify(found.lights);
    for (const count of document.querySelectorAll("[data-lights-count]")) count.textContent = String(found.important);
    if (found.act !== act) {
      act = found.act;
      fill([find("[data-act]"), pieces(act)]);
    }
    if (where.at !== null) return place();
    const first = seen === 0;
    seen = found.version;
    apply(found);
    return list.renew(found.rows, { first });
  }

  /** In a replay, links to tabs and turns keep the position. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-kept]");
    if (!link) return;
    const to = new URL(link.href);
    if (where.at === null) to.searchParams.delete("at");
    else to.searchParams.set("at", String(where.at));
    link.href = to.href;
  });

  /** Scrolls the list of turns, not the page, to the turn that is shown. */
  function showTurn() {
    const [box, row] = [".turn-columns .list", ".turn-list [aria-current]"].map(find);
    if (row) box.scrollTop += row.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
  }

  /** Scrolls the tabs, not the page, to the open one. */
  function showTab() {
    const [box, tab] = [".views", ".views > [aria-current]"].map(find);
    if (tab) box.scrollLeft = tab.offsetLeft - (box.clientWidth - tab.offsetWidth) / 2;
  }

  document.addEventListener("click", ({ target }) => {
    if (target.closest("#turns-listed > summary")) requestAnimationFrame(showTurn);
  });
  showTurn();
  showTab();
  place();
  const telling = Number(find("[data-bring]")?.dataset.bring ?? 0);
  if (where.at !== null) list.bring(where.at);
  else if (telling) list.bring(telling, { first: true }); // what stopped the session
  return renew;
}
