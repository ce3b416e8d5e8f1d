"""Hansard from the outside: the program in a separate process, or the application in this one."""

import contextlib
import secrets
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx2 as httpx
from starlette.applications import Starlette
from starlette.testclient import TestClient

from api.app import create_app
from api.node.settings import Settings
from api.system import System
from domain.session.state import Session
from tests.kit.programs import Program, started
from tests.kit.surroundings import without_settings

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds to wait before a test fails: many, because a loaded machine is no fault of the product."""
LONGEST_PAUSE = 0.1
"""Seconds between two tries, unless a test wants more."""
LONGEST_LOOK, SURE_SECONDS = 0.04, 0.2
"""Seconds between two looks for news, and between two tries while there are none."""

T = TypeVar("T")
Json = dict[str, Any]


def until(
    ready: Callable[[], T | None],
    *,
    what: str,
    seconds: float = PATIENCE,
    pause: float = 0.02,
    news: Callable[[], object] = object,
) -> T:
    """The first true result of `ready`; fails after this many seconds. Each pause between two tries is longer than
    the one before: many tries take time from what is waited for. While `news`, which costs little, returns the same
    as before, most tries are left out."""
    deadline = time.monotonic() + seconds
    heard, sure = None, 0.0
    while True:
        before, heard = heard, news()
        if heard != before or time.monotonic() >= sure:
            value = ready()
            if value:
                return value
            sure = time.monotonic() + SURE_SECONDS
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(pause)
        pause = max(pause, min(1.4 * pause, LONGEST_PAUSE if news is object else LONGEST_LOOK))


class Server:
    """`hansard serve` as a process, on one port and one log through all its lives. `within` is a command that starts
    it elsewhere, such as in a network namespace; `words` are its options."""

    def __init__(
        self, folder: Path, *, within: Sequence[str] = (), words: Sequence[str] = (), **settings: object
    ) -> None:
        self.folder, self.port = folder, free_port()
        self.host, self._within, self._words = str(settings.get("host", "127.0.0.1")), within, words
        self.database = folder / "hansard.db"
        self.data = folder / "node"
        self.url = f"http://{self.host}:{self.port}"
        self.log = folder / "server.log"
        self._settings = _open(settings)
        self._process: Program | None = None
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server runs"
        return self._process.pid

    def start(self, patience: float = PATIENCE) -> float:
        """Seconds until it was ready."""
        assert self._process is None, "one life after the other"
        began = time.monotonic()
        with self.log.open("ab") as log:
            words = ("serve", "--port", str(self.port), *self._words)
            self._process = started(words, env=self._environment(), output=log, within=self._within)
        until(self._ready, what="/readyz", seconds=patience, pause=0.005)
        return time.monotonic() - began

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self) -> float:
        """Stop it as Ctrl-C does; return the seconds it took."""
        began = time.monotonic()
        assert self._end(signal.SIGTERM) == 0, self.log.read_text()
        return time.monotonic() - began

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None, "the server runs"
        process, self._process = self._process, None
        process.send_signal(number)
        return process.wait(timeout=PATIENCE)

    def leave(self) -> None:
        """Clean up, however the test ended."""
        if self._process is not None:
            self.kill()
        self.client.close()

    def _ready(self) -> bool:
        assert self._process is not None and self._process.poll() is None, self.log.read_text()
        try:
            with socket.create_connection((self.host, self.port), timeout=PATIENCE) as line:
                line.sendall(f"GET /readyz HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\n".encode())
                return line.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def _environment(self) -> dict[str, str]:
        kept = without_settings()
        ours = {f"HANSARD_{name.upper()}": str(value) for name, value in self._settings.items()}
        return (
            kept
            | {
                "HANSARD_DATABASE": f"sqlite:///{self.database}",
                "HANSARD_DATA_DIR": str(self.data),
                "HANSARD_RETRY_SECONDS": "0.001",
            }
            | ours
        )


def _open(settings: Mapping[str, object]) -> dict[str, Any]:
    """Run without keys, unless the settings configure them."""
    return {"auth": "key" if "api_keys_file" in settings else "off", **settings}


@contextlib.contextmanager
def serving(folder: Path, **settings: object) -> Iterator[Server]:
    """A server that is ready; settings by their names, as in `budget_minute=0.5`."""
    server = Server(folder, **settings)
    try:
        server.start()
        yield server
    finally:
        server.leave()


@contextlib.contextmanager
def inside(folder: Path, *, work: bool = True, **settings: Any) -> Iterator[TestClient]:
    """The application in this process, with its worker unless turned off."""
    ours = {"database": f"sqlite:///{folder / 'hansard.db'}", "data_dir": folder / "node", "retry_seconds": 0.001}
    configuration = Settings(**(ours | _open(settings)))
    with TestClient(
        create_app(configuration, work=work), base_url="http://127.0.0.1", raise_server_exceptions=False
    ) as client:
        yield client


def system(client: TestClient) -> System:
    """The system that serves the endpoints of an application in this process."""
    assert isinstance(client.app, Starlette)
    result: System = client.app.state.system
    return result


def free_port() -> int:
    """A port below the ephemeral range; a client that retries fast could otherwise connect to itself."""
    while True:
        port = 15_000 + secrets.randbelow(17_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


# -- sessions over HTTP --------------------------------------------------------------------------------------------


def delivery(replies: Mapping[str, Any] | None = None, **fields: Any) -> Json:
    """The body that starts a delivery of one file, validated by `true`, without a baseline, unless said otherwise."""
    body: Json = {
        "task": "Add a login page",
        "filePaths": ["src/login.py"],
        "validationCommands": ["true"],
        "baseline": False,
    }
    return body | {"scenario": {"replies": dict(replies or {})}} | fields


def start(client: httpx.Client, body: Json | None = None, **headers: str) -> str:
    """Start a delivery; its id."""
    answer = client.post("/api/sessions", json=delivery() if body is None else body, headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["sessionId"])


def session(client: httpx.Client, session_id: str, **query: object) -> Json:
    answer = client.get(f"/api/sessions/{session_id}", params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()["session"]
    return body


def rests(client: httpx.Client, session_id: str) -> Callable[[], object]:
    """Returns news of a session for those who wait until it rests: the same as long as it has turns at work."""
    return _news(client, session_id, lambda it: "at work" if it.outstanding else it.version)


def grows(client: httpx.Client, session_id: str) -> Callable[[], object]:
    """Returns news of a session for those who wait for an event: the same as long as it has no new one."""
    return _news(client, session_id, lambda it: it.version)


def _news(client: httpx.Client, session_id: str, told: Callable[[Session], object]) -> Callable[[], object]:
    """Returns what an application in this process has in its memory; always something new without one."""
    if not isinstance(client, TestClient) or not isinstance(client.app, Starlette):
        return object
    remembered = system(client).writer.cached

    def news() -> object:
        state = remembered(session_id)
        return object() if state is None else told(state)

    return news


def ended(client: httpx.Client, session_id: str, *, seconds: float = PATIENCE) -> Json:
    """The session, once it no longer runs."""

    def over() -> Json | None:
        view = session(client, session_id)
        return view if view["status"] not in ("pending", "running") else None

    return until(over, what=f"the end of {session_id}", seconds=seconds, news=rests(client, session_id))


def events(client: httpx.Client, session_id: str) -> list[Json]:
    """All events of a session, page by page."""
    results: list[Json] = []
    after: str | None = "0"
    while after is not None:
        page = client.get(f"/api/sessions/{session_id}/events", params={"after": after}).json()
        results += page["items"]
        after = page["nextCursor"]
    return results


def types(history: list[Json]) -> list[str]:
    """The event type without its kind, such as `phase_started`."""
    return [event["type"].removeprefix("delivery.") for event in history]


def only(history: list[Json], topic: str) -> list[Json]:
    """The data of the events of one type."""
    return [event["data"] for event in history if event["type"] == topic]


def reached(client: httpx.Client, session_id: str, topic: str, *, count: int = 1) -> list[Json]:
    """The data of the events of that type, once there are this many of them."""

    def there() -> list[Json] | None:
        data = only(events(client, session_id), topic)
        return data if len(data) >= count else None

    return until(there, what=f"{topic} of {session_id}", news=grows(client, session_id))


def running(pid: int) -> bool:
    """Whether the process is running; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
