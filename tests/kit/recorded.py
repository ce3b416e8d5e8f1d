"""Record what the server says to programs and browsers about the golden logs: before and after a change of its inside.

`python -m tests.kit.recorded FILE` writes a line for each request and its answer; `diff` compares two such files. Ids,
keys and times of the run itself are replaced, so that two runs of the same code with the same PYTHONHASHSEED write the
same bytes.
"""

import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TextIO

from starlette.testclient import TestClient

from adapters.proof.transfer import take_in
from adapters.store.sqlite.store import SqliteStore
from api.app import COMMANDS, PAGES, VIEWS, create_app
from api.cli.tools import TOOLS, schema_of
from api.node.settings import Settings
from api.openapi import Document

GOLDEN: Final = Path(__file__).parents[1] / "golden"
LOGS: Final = (
    "everything",
    "scopes",
    "votes",
    "permissions",
    "landing",
    "channels",
    "forks",
    "orchestration",
    "debate",
    "discussed",
)
Json = dict[str, Any]
HEADERS: Final = (
    "content-type",
    "etag",
    "location",
    "allow",
    "cache-control",
    "retry-after",
    "www-authenticate",
    "idempotency-replayed",
    "content-security-policy",
    "set-cookie",
)
_CHANGING: Final = (
    (re.compile(r"\b(delivery|orchestration|review|debate)-[0-9a-z]{10}\b"), r"\1-NEW"),
    (re.compile(r"20(2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r'(key\\?"( value)?[=:]\s?\\?")[0-9a-f]{32}'), r"\1KEY"),
    (re.compile(r'data-build=\\"[0-9a-f]{12}'), "data-build"),
    (re.compile(r'data-(elapsed|as-of)=\\"\d{9,}'), "data-time"),
    (re.compile(r"\bform-[0-9a-f]{64}\b"), "form-KEY"),
    (re.compile(r'data-hash=\\"[0-9a-f]{12}'), "data-hash"),
    (re.compile(r'elapsedMs\\":\s?\d{9,}'), "elapsedMs"),
    (re.compile(r"(data-clock>)[0-9:]+|\b\d{2,3}:\d\d:\d\d\b"), "CLOCK"),
    (re.compile(r'"at":\s?1[6-9]\d{11}'), '"at":TIME'),
    (re.compile(r"/tmp/recorded-[a-z0-9_]+"), "FOLDER"),
    (re.compile(r'"hash":\s?"[0-9a-f]{64}"'), "HASH"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|seconds?|minutes?|hours?|days?|months?|years?) ago\b"), "AGO"),
    (re.compile(r'W?/?"[0-9a-f]{32}"'), "TAG"),
    (re.compile(r"\?v=[0-9a-f]+"), "?v=ASSET"),
)


def fixed(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return text


class Recorder:
    """Sends requests to one application and writes down what it answered."""

    def __init__(self, client: TestClient, out: TextIO, name: str) -> None:
        self._client, self._out, self._name = client, out, name

    def get(self, address: str, **headers: str) -> None:
        self._put("GET", address, "", self._client.get(address, headers=headers, follow_redirects=False))

    def post(self, address: str, body: object, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | headers
        answer = self._client.post(address, content=raw, headers=sent, follow_redirects=False)
        self._put("POST", address, raw.decode("latin-1")[:300], answer)

    def form(self, address: str, fields: Json, **headers: str) -> None:
        sent = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"} | headers
        answer = self._client.post(address, data=fields, headers=sent, follow_redirects=False)
        self._put("FORM", address, json.dumps(fields), answer)

    def _put(self, method: str, address: str, sent: str, answer: Any) -> None:
        headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
        line = [self._name, method, address, sent, answer.status_code, headers, answer.text]
        print(fixed(json.dumps(line, ensure_ascii=False)), file=self._out)


def record(out: TextIO) -> None:
    """Everything, in one order."""
    print(Document(COMMANDS, VIEWS).content.decode(), file=out)
    for tool in sorted(TOOLS, key=lambda tool: tool.name):
        print(json.dumps([tool.name, tool.description, tool.scope, schema_of(tool)]), file=out)
    for name in LOGS:
        with tempfile.TemporaryDirectory(prefix="recorded-") as folder, contextlib.chdir(folder):
            _record_log(Path(folder), name, out)


def _record_log(folder: Path, name: str, out: TextIO) -> None:
    database = folder / "log.db"
    with closing(SqliteStore(str(database))) as store:
        take_in(store, (GOLDEN / f"0.1.0-{name}.jsonl").read_bytes().splitlines(keepends=True))
        names = list(store.rows.streams())
        lengths = {each: store.version(each) for each in names}
    settings = Settings(database=f"sqlite:///{database}", data_dir=folder / "node", auth="off", no_progress_limit=0)
    app = create_app(settings, work=False, notify=False)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        recorder = Recorder(client, out, name)
        client.get("/api/sessions", headers={"Read-After": "1"})
        for address in _gets(names, lengths):
            recorder.get(address)
        for address in ("/", "/chat", f"/sessions/{names[0]}", "/decisions"):
            recorder.get(address, **{"Accept-Language": "ko"})
        _post(recorder, client, names, lengths)
        for each in names:
            recorder.get(f"/api/sessions/{each}/events?after={lengths[each]}")


def _gets(names: list[str], lengths: dict[str, int]) -> Iterator[str]:
    ids = {"turn": "t1", "artifact": "a1", "name": "summary", "a": names[0], "b": names[-1], "origin:path": "chat"}
    for path, *_ in (*VIEWS, *PAGES):
        if path in ("/metrics", "/readyz", "/docs", "/openapi.json", "/assets/{name}"):
            continue
        for each in [*names[:6], "delivery-none"] if "{id}" in path else names[:1]:
            address = path.replace("{id}", each)
            for placeholder, value in ids.items():
                address = address.replace(f"{{{placeholder}}}", f"{each}.t1" if placeholder == "turn" else value)
            yield address
            yield f"{address}?unknown=1"
            if "{id}" in path:
                yield f"{address}?version={max(1, lengths.get(each, 1) // 2)}"
                if not path.startswith("/api"):
                    yield f"{address}?at={max(1, lengths.get(each, 1) - 1)}"
                    yield f"{address}?lang=ko"
    for kind in ("delivery", "orchestration", "review", "debate"):
        yield f"/?start={kind}"
        yield f"/start?start={kind}&lang=ko"
        yield f"/api/sessions?kind={kind}&limit=2"


GOOD: Final[dict[str, Json]] = {
    "cancel": {"reason": "enough"},
    "retry": {"reason": "again"},
    "permission": {"requestId": "p1", "decision": "allow", "remember": True},
    "budget": {"addIterations": 2, "reason": "close"},
    "decision": {"decision": "skip", "rationale": "known"},
    "scope": {"requestId": "s1", "decision": "deny"},
    "land": {"onto": "main"},
    "pull-request": {"follow": True},
    "fork": {"atVersion": 3, "mode": "stop"},
    "continue": {},
    "reset": {"reason": "other way"},
}
_SCRIPT: Final = {"replies": {}}
STARTS: Final[tuple[Json, ...]] = (
    {"kind": "delivery", "task": "x", "filePaths": ["a.py"], "validationCommands": ["true"], "scenario": _SCRIPT},
    {"task": "x", "filePaths": ["../a"], "validationCommands": ["rm"]},
    {"kind": "orchestration", "prompt": "x", "scenario": _SCRIPT},
    {"kind": "orchestration", "prompt": " "},
    {"kind": "review", "subject": "x", "maxRounds": 99},
    {"kind": "debate", "plan": "x", "profile": "none"},
    {"kind": "debate", "plan": "x", "strategy": "none"},
    {"kind": "other"},
    {"kind": 3},
    {"workspace": "relative", "task": "x"},
    {"fixes": "delivery-none"},
    {},
)
ELSEWHERE: Final[dict[str, tuple[Json, ...]]] = {
    "/api/sessions": STARTS,
    "/api/message": ({"prompt": "Build it", "origin": "r"}, {"prompt": " "}, {"prompt": "이어서 해줘"}, {}),
    "/api/orchestrate/continue": ({"origin": "r"}, {"origin": "none"}, {"workspace": "/none"}, {"scenario": {"a": 1}}),
    "/api/orchestrate/reset": ({"origin": "r", "reason": "x"}, {"origin": "none"}, {"origin": 3}),
    "/api/trust": ({"workspace": "/nowhere/at/all"}, {"workspace": "x"}, {}),
    "/api/redact": ({"digest": "0" * 64, "reason": "leak"}, {"digest": "x", "reason": ""}, {}),
    "/api/turns/claim": ({"waitSeconds": 0}, {"roles": 3}),
    "/api/turns/none/heartbeat": ({"attempt": 1}, {}),
    "/api/turns/none/result": ({"text": "x", "attempt": 1}, {}),
    "/api/policies/triage": ({"text": "Build it"}, {}),
    "/api/policies/lab": ({"profiles": ["seed"]}, {}),
}
BAD: Final[tuple[object, ...]] = (b"{", b" ", b"[]", {"unknown": 1}, {"reason": 3, "decision": 3, "atVersion": "x"})


def _post(recorder: Recorder, client: TestClient, names: list[str], lengths: dict[str, int]) -> None:
    for address, bodies in ELSEWHERE.items():
        for body in (*bodies, *BAD[:3]):
            recorder.post(address, body)
        recorder.post(address, bodies[-1], **{"Idempotency-Key": f"k{address}"})
        recorder.post(address, bodies[-1], **{"Idempotency-Key": f"k{address}"})
        recorder.post(address, {}, **{"Idempotency-Key": f"k{address}", "Content-Type": "text/plain"})
        recorder.post(address, bodies[0], **{"If-Match": '"3"'})
    for each in [*names[:5], "delivery-none", "channel-x"]:
        for verb, body in GOOD.items():
            address = f"/api/sessions/{each}/{verb}"
            for bad in BAD:
                recorder.post(address, bad)
            recorder.post(address, body, **{"If-Match": '"99"'})
            recorder.post(address, body, **{"If-Match": "x"})
            recorder.post(f"{address}?x=1", body)
            recorder.form(f"/sessions/{each}", _form(verb, body, each, lengths.get(each, 1)) | {"really": ""})
    for each in names[:5]:
        version = lengths[each]
        for verb in sorted(GOOD, key=lambda verb: verb == "cancel"):
            address, body = f"/api/sessions/{each}/{verb}", GOOD[verb]
            recorder.form("/decisions", _form(verb, body, each, version), Accept="application/json")
            recorder.form(f"/sessions/{each}?lang=ko", _form(verb, body, each, version))
            recorder.post(address, body, **{"Idempotency-Key": f"{each}{verb}"})
            recorder.post(address, body, **{"Idempotency-Key": f"{each}{verb}"})
            recorder.post(address, body | {"x": 1}, **{"Idempotency-Key": f"{each}{verb}"})
    for start in STARTS[:4]:
        kind = str(start.get("kind", "delivery"))
        texts = {"key": "0" * 32, "start": kind, "task": "x", "prompt": "x", "validationCommands": "true\nrm -rf"}
        known = {"delivery": {"prompt"}, "orchestration": {"task", "validationCommands"}}.get(kind, set())
        recorder.form("/", {name: text for name, text in texts.items() if name not in known})
    recorder.form("/chat", {"key": "1" * 32, "origin": "r", "prompt": "Hello there"})
    recorder.form("/chat/r", {"key": "2" * 32, "prompt": "", "meant": "reset"})
    recorder.form("/chat/r", {"key": "3" * 32, "prompt": "", "meant": "cancel", "session": names[0]})
    recorder.form("/chat/r", {"key": "bad"})


def _form(verb: str, body: Json, session: str, version: int) -> Json:
    fields = {name: "on" if value is True else str(value) for name, value in body.items()}
    bound = {} if verb in ("permission", "fork") else {"version": str(version)}
    return {"verb": verb, "session": session, "key": "a" * 32, "really": "yes", **bound, **fields}


if __name__ == "__main__":
    with Path(sys.argv[1]).open("w") as file:
        record(file)
