// Tells a page that something is new. One stream of events serves all tabs of a browser, which has six connections to a
// server: the tab that holds the lock reads it and passes on what it says; where there are no locks, each tab reads.

const LOCK = "hansard-stream";
const ANY = "*";
const RETRY_MS = 3000;

/** `heard` is called with the session that has a new event and the type of the event, or with "*" where any may have;
    `stirred` while agents are active; `tell` with the state of the stream. Answers how to start, to stop, and to say
    which position of the log the page shows already. */
export function following({ heard, stirred, tell }) {
  const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(LOCK) : null;
  let position = 0;
  let source = null;
  let waiting = null;
  let retry = null;

  function receive({ hello, at, session, type, state, active }) {
    if (hello && source) return share(here());
    if (state) tell(state);
    if (active && waiting) stirred();
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

  /** What a tab that has come, or missed something, has to know. */
  function here() {
    return { state: source.readyState === EventSource.OPEN ? "live" : "lost", at: position, session: ANY };
  }

  function read() {
    source = new EventSource(`/api/events?after=${position}&activity=1`);
    source.onopen = () => share(here());
    source.onmessage = ({ data, lastEventId }) => {
      const { sessionId, type } = JSON.parse(data);
      share({ at: Number(lastEventId), session: sessionId, type });
    };
    source.addEventListener("activity", () => share({ active: true }));
    source.onerror = () => {
      share({ state: "lost" });
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(read, RETRY_MS);
    };
  }

  /** The lock is kept until this tab stops. */
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
