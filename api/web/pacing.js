// When a page is renewed. A session's page follows its session; a list of many sessions, of which some event is always
// new while agents work, is renewed seldom, but at once where something may begin or end to wait for a person.

const SHORTEST_MS = 400;
const LIST_MS = 2500;
const AT_ONCE = new RegExp(
  "(decision|permission|scope|landing)_|session_|no_progress|exhausted|extended|_reached|decided|voted|expired|" +
    "\\.completed|cancelled|retried|reset|continued|turn\\.failed",
);

/** `refresh` is called when it is time; `seldom` says whether the page is a list. */
export function pacing({ refresh, seldom }) {
  let planned = null;
  let due = 0;
  let last = 0;

  /** An earlier time wins. */
  function plan(milliseconds) {
    const at = Date.now() + milliseconds;
    if (planned !== null && due <= at) return;
    clearTimeout(planned);
    due = at;
    planned = setTimeout(run, milliseconds);
  }

  function run() {
    planned = null;
    last = Date.now();
    refresh();
  }

  /** Something is new: an event of that type, or, without a type, what is not known more closely. */
  function soon(type = "") {
    const rest = seldom() && !AT_ONCE.test(type) ? last + LIST_MS - Date.now() : 0;
    plan(Math.max(SHORTEST_MS, rest));
  }

  return { plan, soon };
}
