// The page of a session: its panels live or as of any event, the strip and slider, play-back, the list of events.
// Every position is an address; a panel comes from the server by the same code whatever the position.

const KEPT = 300;
const ROWS = 400;
const LONGEST_PAUSE_MS = 2000;
const SHORTEST_PAUSE_MS = 40;
const CHILDREN_MS = 3000;

/** Takes over the page; answers how it is brought up to date. */
export function session({ pieces, fill, announce, plan }) {
  const page = document.body.dataset;
  const find = (selector) => document.querySelector(selector);
  const slider = find("[data-slider]");
  const list = () => find("[data-rows] [data-scroll]");
  const kept = new Map();
  let newest = Number(page.newest);
  let shown = Number(page.version);
  let at = "replay" in page ? shown : null;
  let seen = at === null ? shown : 0;
  let act = null;
  let playing = false;
  let atNewest = at === null;

  // -- addresses -----------------------------------------------------------------------------------------------------

  function address(path, query = {}) {
    const found = new URLSearchParams(query);
    if (page.explicit) found.set("lang", page.explicit);
    const words = found.toString();
    return `/sessions/${encodeURIComponent(page.session)}${path}${words ? `?${words}` : ""}`;
  }

  function filtered() {
    return [...new FormData(find("[data-filter]"))].filter(([name]) => name === "role" || name === "highlights");
  }

  async function told(path, query) {
    const answer = await fetch(address(path, query), { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  /** What a version looked like; asked for once. */
  function load(version) {
    if (!kept.has(version)) {
      const found = told("/at", { at: version, v: page.build });
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
    shown = found.version;
    page.version = String(shown);
    document.title = found.title;
    find("[data-clock]").textContent = found.clock;
    place();
  }

  /** Everything that says where we are. */
  function place() {
    for (const found of document.querySelectorAll("[data-shown]")) found.textContent = String(shown);
    for (const found of document.querySelectorAll("[data-newest-shown]")) found.textContent = String(newest);
    const replaying = at !== null;
    if (replaying) page.replay = "";
    else delete page.replay;
    find("[data-banner]").hidden = !replaying;
    find("[data-act]").hidden = replaying;
    for (const link of document.querySelectorAll("[data-now]")) link.hidden = !replaying && !link.closest("[data-banner]");
    find("[data-behind]").textContent = newest > shown ? `(+${newest - shown})` : "";
    find("[data-player]").classList.toggle("replaying", replaying);
    slider.max = String(newest);
    slider.value = String(shown);
    slider.setAttribute("aria-valuetext", `${shown} / ${newest}`);
    steps();
    mark();
  }

  function steps() {
    const places = { first: 1, previous: shown - 1, next: shown + 1, last: newest };
    for (const link of document.querySelectorAll("[data-step]")) {
      const version = places[link.dataset.step];
      const open = version >= 1 && version <= newest && version !== shown;
      link.classList.toggle("off", !open);
      if (open) {
        link.href = address("", { at: version });
        link.removeAttribute("aria-disabled");
      } else {
        link.removeAttribute("href");
        link.setAttribute("aria-disabled", "true");
      }
    }
  }

  function mark() {
    find("[data-fork]").hidden = at === null;
    for (const row of document.querySelectorAll("[data-row]")) {
      const version = Number(row.dataset.row);
      row.classList.toggle("is-later", at !== null && version > at);
      if (version === at) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  // -- replay --------------------------------------------------------------------------------------------------------

  let wanted = null;
  let going = false;

  /** To an event; of many that are asked for at once the last alone is shown. */
  async function go(version, { push = false } = {}) {
    wanted = Math.min(newest, Math.max(1, version));
    history[push ? "pushState" : "replaceState"](null, "", address("", { at: wanted }));
    slider.value = String(wanted);
    if (going) return;
    going = true;
    try {
      while (wanted !== null) {
        const version = wanted;
        const found = await load(version);
        if (wanted === version) wanted = null;
        at = version;
        apply(found);
      }
      await bring(at);
    } finally {
      going = false;
    }
  }

  /** A new session from the event that is shown; looking never asks anybody anything, and this one waits, too. */
  async function fork() {
    const button = find("[data-fork]");
    button.disabled = true;
    try {
      const answer = await fetch(`/api/sessions/${encodeURIComponent(page.session)}/fork`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ atVersion: shown, mode: "stop" }),
      });
      const found = await answer.json();
      if (answer.ok) location.assign(`/sessions/${encodeURIComponent(found.sessionId)}`);
      else find("[data-told]").textContent = found.detail;
    } finally {
      button.disabled = false;
    }
  }

  async function live({ push = true } = {}) {
    stop();
    wanted = null;
    at = null;
    if (push) history.pushState(null, "", address(""));
    seen = 0;
    await renew();
    list().scrollTop = 0;
  }

  function stop() {
    playing = false;
    find("[data-play]").setAttribute("aria-pressed", "false");
  }

  async function play() {
    if (playing) return stop();
    playing = true;
    find("[data-play]").setAttribute("aria-pressed", "true");
    if (at === null || at >= newest) await go(1, { push: true });
    while (playing && shown < newest) {
      const next = shown + 1;
      const found = await load(next);
      const pause = Math.min(LONGEST_PAUSE_MS, found.gap / Number(find("[data-speed]").value));
      await new Promise((resolve) => setTimeout(resolve, Math.max(SHORTEST_PAUSE_MS, pause)));
      if (playing) await go(next);
    }
    return stop();
  }

  function highlight(direction) {
    const lights = JSON.parse(find("[data-lights]").dataset.lights);
    const found = direction > 0 ? lights.find((version) => version > shown) : lights.findLast((version) => version < shown);
    if (found) go(found);
  }

  // -- the list of events --------------------------------------------------------------------------------------------

  const listed = () => [...document.querySelectorAll("[data-row]")];

  async function listAround(version) {
    const query = [...filtered(), ...(version === null ? [] : [["at", version]])];
    const found = await told("/rows", query);
    fill(find("[data-rows]"), pieces(found.rows));
    atNewest = version === null;
    mark();
  }

  /** The row of an event into sight, without moving the page. */
  async function bring(version) {
    const rows = listed();
    const [first, last] = [rows[0], rows.at(-1)].map((row) => Number(row?.dataset.row ?? 0));
    if (version < first || (version > last && !atNewest)) await listAround(version);
    const row = listed().findLast((found) => Number(found.dataset.row) <= version);
    const box = list();
    if (!row || !box) return;
    const [here, frame] = [row.getBoundingClientRect(), box.getBoundingClientRect()];
    if (here.top < frame.top || here.bottom > frame.bottom) {
      box.scrollTop += here.top - frame.top - (frame.height - here.height) / 2;
    }
  }

  /** New rows at the end: who stands at the end goes along, who reads further up stays and is told. */
  function append(html) {
    const fresh = pieces(html).flatMap((node) => [...(node.querySelectorAll?.("[data-row]") ?? [])]);
    const last = Number(listed().at(-1)?.dataset.row ?? 0);
    const rows = fresh.filter((row) => Number(row.dataset.row) > last);
    if (!rows.length) return;
    const box = list();
    const [top, height, atEnd] = [box.scrollTop, box.scrollHeight, box.scrollTop > -8];
    box.querySelector(".none")?.remove();
    box.querySelector(".rows").append(...rows);
    for (const row of listed().slice(0, -ROWS)) row.remove();
    if (!atEnd) {
      box.scrollTop = top - (box.scrollHeight - height);
      find("[data-fresh]").hidden = false;
    }
    announce(document);
  }

  // -- up to date ----------------------------------------------------------------------------------------------------

  async function renew() {
    const since = seen && at === null ? { since: seen } : {};
    const found = await told("/at", [...Object.entries(since), ...filtered()]);
    newest = found.newest;
    page.newest = page.after = String(newest);
    page.state = found.state;
    if (found.live) page.stream = `/api/sessions/${encodeURIComponent(page.session)}/events`;
    else delete page.stream;
    if (found.open) page.open = "";
    else delete page.open;
    find("[data-strip]").replaceChildren(...pieces(found.strip));
    find("[data-lights]").dataset.lights = JSON.stringify(found.lights);
    if (found.act !== act) {
      act = found.act;
      fill(find("[data-act]"), pieces(act));
    }
    if (at !== null) return place();
    const first = seen === 0;
    seen = found.version;
    apply(found);
    if (atNewest && !first) append(found.rows);
    else {
      fill(find("[data-rows]"), pieces(found.rows));
      atNewest = true;
    }
    return undefined;
  }

  // -- hands ---------------------------------------------------------------------------------------------------------

  document.addEventListener("click", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a[data-at], a[data-step], a[data-now], a[data-window], [data-fresh], [data-play], [data-fork]");
    if (!link) return;
    event.preventDefault();
    if ("now" in link.dataset) live();
    else if ("play" in link.dataset) play();
    else if ("fork" in link.dataset) fork();
    else if ("window" in link.dataset) listAround(Number(link.dataset.window));
    else if ("fresh" in link.dataset) {
      list().scrollTop = 0;
      link.hidden = true;
    } else {
      stop();
      const version = Number(link.dataset.at ?? new URL(link.href || location.href).searchParams.get("at"));
      if (version) go(version, { push: true });
    }
  });

  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });

  find("[data-strip]").addEventListener("click", (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    stop();
    go(Math.ceil(((event.clientX - box.left) / box.width) * newest), { push: true });
  });

  find("[data-filter]").addEventListener("change", () => listAround(at));

  document.addEventListener(
    "scroll",
    (event) => {
      if (event.target === list() && event.target.scrollTop > -8) find("[data-fresh]").hidden = true;
    },
    { capture: true, passive: true },
  );

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, [tabindex]")) return;
    if (event.key === " " && event.target.closest("button, a, summary")) return;
    const keys = {
      ArrowLeft: () => (event.shiftKey ? highlight(-1) : go(shown - 1)),
      ArrowRight: () => (event.shiftKey ? highlight(1) : shown < newest && go(shown + 1)),
      " ": play,
      l: live,
      L: live,
    };
    const does = keys[event.key];
    if (!does) return;
    event.preventDefault();
    if (event.key !== " ") stop();
    does();
  });

  addEventListener("popstate", () => {
    const version = Number(new URLSearchParams(location.search).get("at"));
    stop();
    if (!version) live({ push: false });
    else {
      history.replaceState(null, "", location.href);
      go(version);
    }
  });

  setInterval(() => {
    if ("open" in page && !document.hidden) plan(0);
  }, CHILDREN_MS);

  for (const found of [slider, find("[data-play]"), find("[data-speed-label]")]) found.hidden = false;
  place();
  if (at !== null) bring(at);
  return renew;
}
