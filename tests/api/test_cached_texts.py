"""After a redaction no object of the process holds the text: every cache has joined the register, also a new one.

The caches are not listed here. They are found: whatever our modules and the running system refer to is looked at.
"""

import gc
import sys
from collections import deque
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from starlette.testclient import TestClient

from adapters.store.location import open_store
from adapters.writer.writer import CommandEnvelope, Writer
from api.actions.redaction import quotes
from api.node.frames import Interest
from api.node.hub import Reader
from api.system import System
from api.web.session.panels import TABS
from domain.session.redaction import RedactText
from tests.api.server import delivery, ended, events, inside, start, system, until
from tests.api.talks import review

ROOMS = ("adapters", "api", "domain", "projections")
SECRET = "sk-kept-nowhere-0123456789"
REPLY = f"I found {SECRET} at the start. " + "x" * 20_000


class Wire:
    """A client that takes nothing."""

    def push(self, data: bytes) -> bool:
        return not data

    def cut(self) -> None:
        """There is no connection."""


@pytest.mark.nightly
def test_no_object_of_the_process_holds_a_redacted_text(tmp_path: Path) -> None:
    with inside(tmp_path, worklog_folder=tmp_path / "worklogs") as client:
        ids = filled(client)
        assert {"Records", "Hub", "Gallery", "Writer", "NewestEvents"} <= holders(system(client))
        for digest in texts_of(client, *ids):
            answer = client.post("/api/redact", json={"digest": digest, "reason": "A key was printed."})
            assert answer.status_code == 200, answer.text
        until(lambda: not holders(system(client)), what="that everything is forgotten")
        pages = look_at_everything(client, *ids)
        assert [address for address, text in pages.items() if SECRET in text] == []
        assert holders(system(client)) == set()


def test_what_another_process_redacts_is_forgotten_too(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        ids = filled(client)
        ours = system(client)
        other = Writer(open_store(ours.settings.database), ours.clock)
        for digest in texts_of(client, *ids):
            text = ours.store.text(digest)
            assert text is not None
            for name, quoting in quotes(ours, digest, text).items():
                command = RedactText(digest=digest, reason="A key was printed.", events=quoting)
                other.do_now(CommandEnvelope(name, command, "person:ada", command_id=f"{name}-{digest}"))
        other.store.close()
        until(lambda: not holders(ours), what="that everything is forgotten", pause=0.5)


def filled(client: TestClient) -> tuple[str, ...]:
    """Two sessions whose texts are in every cache."""
    watching(client)
    replies = {"planner": [REPLY], "reviewer": [f"{REPLY}\n\n{APPROVED}"]}
    ids = start(client, delivery(replies)), start(client, review({"default": [REPLY]}, subject=REPLY, maxRounds=3))
    for name in ids:
        ended(client, name)
    look_at_everything(client, *ids)
    return ids


REMARK = f'{{"id": "1", "title": "A key is printed", "detail": "{REPLY}"}}'
APPROVED = f'{{"blockingIssues": [], "nonBlockingIssues": [{REMARK}], "score": 90, "fixPlan": []}}'


def watching(client: TestClient) -> None:
    """A client of the stream of events, for which they are encoded."""
    assert client.portal is not None
    hub = system(client).hub
    client.portal.call(hub.join, Reader(Interest(), hub.position, None, lambda: None, Wire(), resting=True))


def look_at_everything(client: TestClient, *ids: str) -> dict[str, str]:
    """Every page and view that shows texts, by address."""
    addresses = ["/", "/decisions", "/api/decisions", "/api/sessions", f"/api/sessions?q={SECRET}", "/api/events"]
    addresses += ["/reports", "/api/reports/agents", "/chat", "/api/conversations"]
    for name in ids:
        views = ("", "/turns", "/worklog", "/artifacts", "/explain", "/events?limit=500", "/replay", "/budget")
        addresses += [f"/api/sessions/{name}{view}" for view in views]
        addresses += [f"/api/sessions/{name}{view}?version=12" for view in ("", "/turns", "/worklog")]
        turns = client.get(f"/api/sessions/{name}/turns").json()["items"]
        addresses += [f"/api/sessions/{name}/turns/{turn['turnId']}" for turn in turns]
        addresses += [f"/sessions/{name}/turns/{turn['turnId']}" for turn in turns]
        addresses += [f"/sessions/{name}?tab={tab}" for tab in TABS]
        addresses += [f"/sessions/{name}?at=12", f"/sessions/{name}/log", f"/sessions/{name}/why"]
    return {address: client.get(address).text for address in addresses}


def texts_of(client: TestClient, *ids: str) -> set[str]:
    """The digests of all long texts of the sessions."""
    digests: set[str] = set()

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("digest"), str) and "head" in value:
                digests.add(value["digest"])
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    for name in ids:
        walk(events(client, name))
    return digests


# -- what the process holds ------------------------------------------------------------------------------------------


def holders(inside: System) -> set[str]:
    """The names of our classes, functions and modules that refer to the text, from the system or from a module."""
    modules = [module for name, module in sys.modules.items() if room(name) in ROOMS]
    pending: deque[tuple[Any, str]] = deque([(inside, "System"), *((vars(each), each.__name__) for each in modules)])
    found: set[str] = set()
    seen: dict[int, object] = {}
    while pending:
        one, owner = pending.popleft()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        match one:
            case str():
                found |= {owner} if SECRET in one else set()
            case bytes() | bytearray():
                found |= {owner} if SECRET.encode() in one else set()
            case ModuleType() | FrameType():
                continue
            case FunctionType() | type() if room(one.__module__) not in ROOMS:
                continue  # libraries keep nothing of ours in their code, and this test knows the text
            case _:
                owner = owner_of(one, owner)
                pending.extend((part, owner) for part in gc.get_referents(one))
    return found


def owner_of(one: object, above: str) -> str:
    """The name of a cache: a class of ours that can forget, or a function that keeps its results."""
    wrapped = getattr(one, "__wrapped__", None)
    if isinstance(wrapped, FunctionType) and hasattr(one, "cache_info"):
        return f"{wrapped.__module__}.{wrapped.__qualname__}"
    ours = room(type(one).__module__) in ROOMS
    return type(one).__name__ if ours and hasattr(type(one), "forget") else above


def room(module: str | None) -> str:
    return (module or "").partition(".")[0]
