// The player of a session's history: slider, strip, steps, keys, playback at the recorded pace.

import { shortcut } from "./keys.js";

const AT_REST_MS = 200;
const LONGEST_PAUSE_MS = 2000;
const SHORTEST_PAUSE_MS = 40;

/** Elements that handle arrow keys and the space bar themselves. */
const MOVED = "input, [tabindex='0']:not([data-scroll])";
const FOLLOWED = "a[data-at], a[data-step], a[data-now], a[data-more], [data-fresh], [data-play]";

/** Sets up the player. `reloadAll` makes the next refresh load everything that is shown. */
export function replaying({ find, address, load, apply, renew, list, where, reloadAll }) {
  const slider = find("[data-slider]");
  let wanted = null;
  let written = null;
  let going = false;
  let playing = false;

  /** Goes to an event. Of many requests at once the last one wins. */
  async function go(version, { push = false } = {}) {
    wanted = Math.min(where.newest, Math.max(1, version));
    slider.value = String(wanted);
    write(wanted, { push });
    if (going) return;
    going = true;
    try {
      while (wanted !== null) {
        const next = wanted;
        const [found] = await Promise.all([load(next), list.toward(next)]);
        if (wanted === null) break;
        where.at = next;
        apply(found);
        await list.bring(next);
        if (wanted === next) wanted = null;
      }
    } finally {
      wanted = null;
      going = false;
      place();
    }
  }

  /** Puts the position into the URL: at once for single steps, and after the last move for the slider. */
  function write(version, { push }) {
    clearTimeout(written);
    if (push) history.pushState(null, "", address({ at: version }));
    else written = setTimeout(() => history.replaceState(null, "", address({ at: version })), AT_REST_MS);
  }

  async function live({ push = true } = {}) {
    stop();
    clearTimeout(written);
    wanted = null;
    where.at = null;
    if (push) history.pushState(null, "", address());
    reloadAll();
    await renew();
    await list.toEnd();
  }

  function stop() {
    playing = false;
    find("[data-play]").setAttribute("aria-pressed", "false");
  }

  async function play() {
    if (playing) return stop();
    playing = true;
    find("[data-play]").setAttribute("aria-pressed", "true");
    if (where.at === null || where.at >= where.newest) await go(1, { push: true });
    while (playing && where.shown < where.newest) {
      const next = where.shown + 1;
      const found = await load(next);
      const pause = Math.min(LONGEST_PAUSE_MS, found.gap / Number(find("[data-speed]").value));
      await new Promise((resolve) => setTimeout(resolve, Math.max(SHORTEST_PAUSE_MS, pause)));
      if (playing) await go(next);
    }
    return stop();
  }

  function highlight(direction) {
    const lights = JSON.parse(find("[data-lights]").dataset.lights);
    const { shown } = where;
    const found = direction > 0 ? lights.find((version) => version > shown) : lights.findLast((version) => version < shown);
    if (found) go(found);
  }

  // -- position ------------------------------------------------------------------------------------------------------

  function place() {
    const { newest, shown } = where;
    find("[data-behind]").textContent = newest > shown ? `(+${newest - shown})` : "";
    find("[data-player]").classList.toggle("replaying", where.at !== null);
    slider.max = String(newest);
    slider.value = String(shown);
    slider.setAttribute("aria-valuetext", `${shown} / ${newest}`);
    const places = { first: 1, previous: shown - 1, next: shown + 1, last: newest };
    for (const link of document.querySelectorAll("[data-step]")) {
      const version = places[link.dataset.step];
      const open = version >= 1 && version <= newest && version !== shown;
      link.classList.toggle("off", !open);
      if (open) {
        link.href = address({ at: version });
        link.removeAttribute("aria-disabled");
        link.removeAttribute("tabindex");
      } else {
        link.tabIndex = -1; // it keeps the focus, if it has it
        link.removeAttribute("href");
        link.setAttribute("aria-disabled", "true");
      }
    }
  }

  // -- input ---------------------------------------------------------------------------------------------------------

  document.addEventListener("click", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest(FOLLOWED);
    if (!link) return;
    event.preventDefault();
    if ("now" in link.dataset) live();
    else if ("play" in link.dataset) play();
    else if ("more" in link.dataset) list.around(Number(link.dataset.window));
    else if ("fresh" in link.dataset) list.toEnd();
    else {
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
    go(Math.ceil(((event.clientX - box.left) / box.width) * where.newest), { push: true });
  });

  const keys = {
    ArrowLeft: (event) => (event.shiftKey ? highlight(-1) : go(where.shown - 1)),
    ArrowRight: (event) => (event.shiftKey ? highlight(1) : where.shown < where.newest && go(where.shown + 1)),
    " ": play,
    l: () => live({ push: where.at !== null }),
  };

  document.addEventListener("keydown", (event) => {
    const key = shortcut(event);
    const moves = key === " " || key.startsWith("Arrow");
    const free = key === " " && event.target === slider; // the slider only takes arrows
    if (moves && event.target.closest(MOVED) && !free) return;
    if (key === " " && event.target.closest("button, a, summary")) return;
    const does = keys[key];
    if (!does) return;
    event.preventDefault();
    if (key !== " ") stop();
    does(event);
  });

  addEventListener("popstate", () => {
    const version = Number(new URLSearchParams(location.search).get("at"));
    stop();
    if (version) go(version);
    else live({ push: false });
  });

  for (const found of [slider, find("[data-play]"), find("[data-speed-label]")]) found.hidden = false;

  return { place };
}
