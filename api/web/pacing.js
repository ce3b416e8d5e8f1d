// When to refresh a page. A session's page follows its session. A list of sessions gets new events all the time while
// agents work, so it refreshes less often, but at once when something may start or stop waiting for a person.

const SHORTEST_MS = 400;
const LONGEST_MS = 1000;
/** The pause before a refresh in terms of what the last one took: many events keep no page busy. */
const PAUSE = 8;
const LIST_MS = 2500;
const AT_ONCE = new RegExp(
  "(decision|permission|scope|landing)_|session_|no_progress|exhausted|extended|_reached|decided|voted|expired|" +
    "\\.completed|cancelled|retried|reset|continued|turn\\.failed",
);

/** Calls `refresh` when it is time. `seldom`: whether the page is a list. */
export function pacing({ refresh, seldom }) {
  let planned = null;
  let due = 0;
  let last = 0;
  let took = 0;

  /** Plans a refresh; the earlier time wins. */
  function plan(milliseconds) {
    const at = Date.now() + milliseconds;
    if (planned !== null && due <= at) return;
    clearTimeout(planned);
    due = at;
    planned = setTimeout(run, milliseconds);
  }

  async function run() {
    planned = null;
    last = Date.now();
    await refresh();
    took = Date.now() - last;
  }

  /** There is a new event of this type, or of an unknown type. */
  function soon(type = "") {
    const rest = seldom() && !AT_ONCE.test(type) ? last + LIST_MS - Date.now() : 0;
    plan(Math.max(SHORTEST_MS, Math.min(PAUSE * took, LONGEST_MS), rest));
  }

  return { plan, soon };
}
