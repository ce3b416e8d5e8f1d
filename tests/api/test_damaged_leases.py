"""Damaged rows of the lease table stop no other turns: leases are not facts, and a flipped bit
is no reason to stop working."""

import logging
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from adapters.turns.lease.presence import this_machine
from tests.api.orchestrating import orchestration
from tests.api.server import Json, inside, session, start, system, until

COLUMNS = (
    "stream", "version", "work", "agent", "role", "state", "attempt", "worker", "lease_until", "deadline",
    "requested_at", "owner", "rank", "used",
)  # fmt: skip
HELD = "UPDATE turns SET state = 'running', attempt = 1, worker = ?, lease_until = 1 WHERE stream = ?"
STRANGE: dict[str, tuple[object, ...]] = {
    "worker": (None, "", "a\0b", "/", "../../etc", "x" * 5_000, "a.{machine}.\0.b", "a.{machine}.1.1"),
    "lease_until": (None, -(2**63), 2**63 - 1),
    "deadline": (None, -(2**63), 2**63 - 1),
    "attempt": (-(2**63), -1, 2**40, 2**63 - 1),
    "version": (0, -1, 2, 2**63 - 1),
    "requested_at": (-(2**63), 0, 2**63 - 1),
    "rank": (-(2**63), 2**63 - 1),
    "stream": ("", "delivery-none", "channel-none", "strange", "\0"),
    "state": ("", "strange", "running", "held", "done", "cancelled"),
    "work": ("", "strange", "wait", "validate", "land", "prepare", "package"),
    "agent": ("", "strange", "\0"),
    "role": ("", "strange", "\0"),
    "owner": ("", "\0"),
    "used": ("", "{", "[]", '{"since": "x"}', '{"since": -1, "usage": {"inputTokens": -5}}'),
}


def direct() -> Json:
    """A session of one turn, without a folder."""
    return orchestration({"assistant": ["Done."]}, triage="direct")


def flipped(value: object, chance: random.Random) -> object:
    """The value with one bit flipped."""
    match value:
        case int():
            return (value ^ 1 << chance.randrange(63)) & 2**62 - 1
        case str() if value:
            changed = bytearray(value.encode())
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(7)
            return changed.decode(errors="replace")
        case _:
            return value


def damage(path: Path, waiting: list[str], machine: str, chance: random.Random) -> dict[str, str]:
    """Damage one value of each session's turn; return the damage by session."""
    result: dict[str, str] = {}
    with closing(sqlite3.connect(path, isolation_level=None)) as log:
        harms: list[tuple[str, object]] = [(column, value) for column, values in STRANGE.items() for value in values]
        harms += [(column, ...) for column in COLUMNS for _ in range(2)]
        for session_id, (column, value) in zip(waiting, harms, strict=True):
            if column in ("worker", "lease_until", "attempt") or chance.random() < 0.3:
                log.execute(HELD, (f"host.{machine}.1.ffff", session_id))
            [old] = log.execute(f"SELECT {column} FROM turns WHERE stream = ?", (session_id,)).fetchone()
            new = flipped(old, chance) if value is ... else value
            new = new.replace("{machine}", machine) if isinstance(new, str) else new
            log.execute(f"UPDATE turns SET {column} = ? WHERE stream = ?", (new, session_id))
            result[session_id] = f"{column} = {new!r}"
    return result


HARMS = sum(map(len, STRANGE.values())) + 2 * len(COLUMNS)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 12))])
def test_damaged_leases_stop_no_other_turns(tmp_path: Path, caplog: pytest.LogCaptureFixture, seed: int) -> None:
    with inside(tmp_path, work=False) as client:
        waiting = [start(client, direct()) for _ in range(HARMS)]
        path = Path(system(client).store.path)
    harms = damage(path, waiting, this_machine(), random.Random(seed))  # noqa: S311 - the same again
    caplog.set_level(logging.ERROR)
    with inside(tmp_path, work=True) as client:
        healthy = [start(client, direct()) for _ in range(3)]
        for session_id in healthy:
            until(lambda name=session_id: status(client, name) == "done", what="the healthy ones", seconds=120)  # type: ignore[misc]
        assert "the worker could not take" not in caplog.text
        until(lambda: client.get("/readyz").status_code == 200, what="a server that is ready")
        for endpoint in ("/api/sessions", "/api/turns", "/api/decisions", "/", "/api/reports/summary"):
            assert client.get(endpoint).status_code < 500, endpoint
        for session_id in waiting:
            check(client, session_id, harms[session_id])


def check(client: TestClient, session_id: str, harm: str) -> None:
    """The session can be read, and cancelled if it has not ended."""
    assert client.get(f"/api/sessions/{session_id}").status_code == 200, harm
    assert client.get(f"/sessions/{session_id}").status_code == 200, harm
    answer = client.post(f"/api/sessions/{session_id}/reset", json={"reason": "enough"})
    assert answer.status_code in (200, 202, 409), (harm, answer.text)
    until(lambda: status(client, session_id) in ("done", "reset"), what=f"the end after {harm}")


def status(client: TestClient, session_id: str) -> str:
    view: str = session(client, session_id)["status"]
    return view
