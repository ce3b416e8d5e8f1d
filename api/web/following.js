// Notifies a page of new events. All tabs share one stream, because a browser opens only six connections to a server:
// the tab that holds the lock reads the stream and broadcasts it. Without the Web Locks API each tab has its own
// stream.

const LOCK = "hansard-stream";
const ANY = "*";
const RETRY_MS = 3000;

/** Calls `heard` with the session and type of a new event (session "*": any may have one), `stirred` while agents are
    active, and `tell` with the state of the stream. Returns functions to start, to stop, and to set the log position that
    the page already shows. */
export function following({ heard, stirred, tell }) {
  const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(LOCK) : null;
  let position = 0;
  let source = null;
  let waiting = null;
  let retry = null;

  function receive({ hello, at, session, type, state, active, rewound }) {
    if (hello && source) return share(here());
    if (state) tell(state);
    if (active && waiting) stirred();
    if (rewound) position = -1; // the log has gone back: what this page shows may be gone
    if (at > position) {
      position = at;
      if (waiting) heard(session, type);
    }
    return undefined;
  }

  function share(message) {
    channel?.postMessage(message);
    receive(message);
  }

  /** Brings a tab up to date that has just opened or has missed events. */
  function here() {
    return { state: source.readyState === EventSource.OPEN ? "live" : "lost", at: position, session: ANY };
  }

  function read() {
    source = new EventSource(`/api/events?after=${position}&activity=1`);
    source.onopen = () => share(here());
    source.onmessage = ({ data, lastEventId }) => {
      const { sessionId, type } = JSON.parse(data);
      share({ at: parseInt(lastEventId, 10), session: sessionId, type });
    };
    source.addEventListener("rewound", ({ data }) => share({ at: JSON.parse(data).head, session: ANY, rewound: true }));
    source.addEventListener("activity", () => share({ active: true }));
    source.onerror = () => {
      share({ state: "lost" });
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(read, RETRY_MS);
    };
  }

  /** Holds the lock until this tab stops. */
  function lead(signal) {
    if (signal.aborted) return undefined;
    read();
    return new Promise((done) => signal.addEventListener("abort", done));
  }

  function start() {
    if (waiting) return;
    waiting = new AbortController();
    const { signal } = waiting;
    if (!channel || !navigator.locks) read();
    else {
      navigator.locks.request(LOCK, { signal }, () => lead(signal)).catch(() => {});
      channel.postMessage({ hello: true });
    }
  }

  function stop() {
    clearTimeout(retry);
    source?.close();
    source = null;
    waiting?.abort();
    waiting = null;
  }

  function known(version) {
    position = Math.max(position, version);
  }

  if (channel) channel.onmessage = ({ data }) => receive(data);
  return { start, stop, known };
}
