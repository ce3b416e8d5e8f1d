// The page of a session: its panels live or as of any event, and the note on where we are. The list of events is in
// events.js, the steps through the history in replay.js. Every position is an address; a panel comes from the server
// by the same code whatever the position.

import { listOfEvents } from "./events.js";
import { replaying } from "./replay.js";

const KEPT = 300;

/** Takes over the page; answers how it is brought up to date. */
export function session({ pieces, fill, announce }) {
  const page = document.body.dataset;
  const find = (selector) => document.querySelector(selector);
  const kept = new Map();
  const shown = Number(page.version);
  /** The newest event, the one whose state is shown, and the one shown in replay; null is live. */
  const where = { newest: Number(page.newest), shown, at: "replay" in page ? shown : null };
  let seen = where.at === null ? shown : 0;
  let act = null;

  // -- what the server tells -----------------------------------------------------------------------------------------

  function address(path, query = {}) {
    const found = new URLSearchParams(query);
    if (page.explicit) found.set("lang", page.explicit);
    const words = found.toString();
    return `/sessions/${encodeURIComponent(page.session)}${path}${words ? `?${words}` : ""}`;
  }

  /** The tab that is looked at, and in it a turn or a file. */
  const named = { tab: page.tab === "overview" ? "" : page.tab, turnId: page.turn, file: page.file };
  const looked = Object.fromEntries(Object.entries(named).filter(([, value]) => value));

  /** Where the reader is at an event: what the address says. */
  function position(query = {}) {
    if (page.tab === "turns" && page.turn) return address(`/turns/${encodeURIComponent(page.turn)}`, query);
    return address("", { ...looked, ...query });
  }

  async function told(path, query) {
    const answer = await fetch(address(path, query), { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  /** What a version looked like; asked for once. */
  function load(version) {
    if (!kept.has(version)) {
      const found = told("/at", { ...looked, at: version, v: page.build });
      found.catch(() => kept.delete(version));
      kept.set(version, found);
      if (kept.size > KEPT) kept.delete(kept.keys().next().value);
    }
    return kept.get(version);
  }

  // -- showing -------------------------------------------------------------------------------------------------------

  function apply(found) {
    for (const part of document.querySelectorAll("[data-part]")) {
      const [hash, html] = found.panels[part.dataset.part] ?? [];
      if (!hash || hash === part.dataset.hash) continue;
      part.dataset.hash = hash;
      fill(part, pieces(html));
    }
    where.shown = found.version;
    page.version = String(found.version);
    document.title = found.title;
    find("[data-badge]").replaceChildren(...pieces(found.badge));
    find("[data-clock]").textContent = found.clock;
    for (const count of document.querySelectorAll("[data-count]")) {
      count.textContent = found.counts[count.dataset.count] ?? "";
    }
    place();
  }

  /** Everything that says where we are. */
  function place() {
    for (const found of document.querySelectorAll("[data-shown]")) found.textContent = String(where.shown);
    for (const found of document.querySelectorAll("[data-fork-otherwise]")) {
      const address = new URL(found.href);
      address.searchParams.set("atA", where.shown);
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
  const steps = replaying({ find, address: position, load, apply, renew, list, where, startAnew: () => (seen = 0) });

  // -- up to date ----------------------------------------------------------------------------------------------------

  async function renew() {
    const since = seen && where.at === null ? { since: seen } : {};
    const found = await told("/at", [...Object.entries({ ...looked, ...since }), ...list.filtered()]);
    where.newest = found.newest;
    page.newest = String(found.newest);
    page.head = String(found.head);
    page.follows = found.follows;
    page.state = found.state;
    find("[data-strip]").replaceChildren(...pieces(found.strip));
    find("[data-lights]").dataset.lights = JSON.stringify(found.lights);
    if (found.act !== act) {
      act = found.act;
      fill(find("[data-act]"), pieces(act));
    }
    if (where.at !== null) return place();
    const [first, more] = [seen === 0, found.version - seen];
    seen = found.version;
    apply(found);
    return list.renew(found.rows, { first, more });
  }

  /** In the past, tabs and turns are of the same moment. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-kept]");
    if (!link) return;
    const to = new URL(link.href);
    if (where.at === null) to.searchParams.delete("at");
    else to.searchParams.set("at", String(where.at));
    link.href = to.href;
  });

  place();
  const telling = Number(find("[data-bring]")?.dataset.bring ?? 0);
  if (where.at !== null) list.bring(where.at);
  else if (telling) list.bring(telling, { first: true }); // what stopped the session
  return renew;
}
