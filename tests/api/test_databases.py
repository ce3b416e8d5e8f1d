"""Real databases as services: PostgreSQL and Redis of Debian, in one session and in eight at once (contract-3 §21).

Without them the tests skip and say so; `.ci/run` installs them.
"""

import os
import shutil
from pathlib import Path

import httpx2 as httpx
import pytest

from adapters.fence.bubblewrap import bubblewrap_works
from tests.api.seen import review
from tests.api.server import delivery, ended, inside, serving, start, until
from tests.api.test_baseline import repository
from tests.api.test_clean_room import report

POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
REDIS = shutil.which("redis-server")
CI = os.environ.get("CI") == "true"
pytestmark = [
    pytest.mark.skipif(not bubblewrap_works() and not CI, reason="bubblewrap does not work here"),
    pytest.mark.skipif(not POSTGRES and not CI, reason="PostgreSQL is not installed (postgresql)"),
    pytest.mark.skipif(not REDIS and not CI, reason="Redis is not installed (redis-server)"),
]
SETTINGS = """
[workspace]
ports = ["PORT", "REDIS_PORT"]
env = { PGHOST = "127.0.0.1", PGUSER = "postgres", PGDATABASE = "postgres" }
setup = ["psql -qc 'create table seen (words text)'"]

[[service]]
name = "postgres"
command = "sh start-postgres.sh"
ready = "psql -qtc 'select 1'"
env = { BIN = "@BIN@" }

[[service]]
name = "redis"
command = "sh -c 'exec redis-server --port $REDIS_PORT --dir $TMPDIR --appendonly no'"
ready = "sh -c 'redis-cli -p $REDIS_PORT ping | grep -q PONG'"
seconds = 30
"""
POSTGRES_STARTS = """
test -d "$TMPDIR/db" || "$BIN/initdb" --no-sync -D "$TMPDIR/db" -U postgres -A trust > "$TMPDIR/log" || exit 1
exec "$BIN/postgres" -F -D "$TMPDIR/db" -k "$TMPDIR" -p 5432
"""
CHECK = """
set -e
name=$(cat name.txt)
python3 -m http.server --bind 127.0.0.1 "$PORT" > /dev/null 2>&1 & server=$!
test "$(psql -Atc 'select count(*) from seen')" = 0
psql -qc "insert into seen values ('$name')"
test "$(redis-cli -p $REDIS_PORT incr seen)" = 1
@PAUSE@
test "$(psql -Atc 'select words from seen')" = "$name"
test "$(redis-cli -p $REDIS_PORT incr seen)" = 2
for again in 1 2 3 4 5 6 7 8 9 10; do curl -sf "http://127.0.0.1:$PORT/name.txt" > got && break; sleep 0.3; done
test "$(cat got)" = "$name"
kill $server
"""


def shop(folder: Path, *, name: str = "base", pause: str = "") -> Path:
    settings = SETTINGS.replace("@BIN@", str(POSTGRES[-1].parent))
    files = {"hansard.toml": settings, "start-postgres.sh": POSTGRES_STARTS, "name.txt": name, ".gitignore": "got\n"}
    return repository(folder, **files, **{"check.sh": CHECK.replace("@PAUSE@", pause)})


def started(client: httpx.Client, folder: Path, name: str) -> str:
    replies = {"dev": [{"text": "Done.", "files": {"name.txt": f"{name}\n"}}], "reviewer": [review()]}
    fields = {"workspace": str(folder), "validationCommands": ["sh check.sh"], "baseline": True, "maxIterations": 2}
    return start(client, delivery(replies, **fields))


def left_running() -> list[str]:
    """The services of such sessions that still run anywhere on this machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if "hansard-service-" in line or line.startswith("redis-server *:"):
            lines.append(line)
    return lines


def test_a_session_has_its_databases_each_time_as_the_set_up_left_them(tmp_path: Path) -> None:
    with inside(tmp_path / "data", trust="all", sandbox="required") as client:
        session = ended(client, started(client, shop(tmp_path / "shop"), "one"), seconds=300)
        assert session["status"] == "success", session["finalSummary"]
        services = report(client, session)["services"]
    assert {service["name"] for service in services} == {"postgres", "redis"}
    assert all(service["ready"] for service in services)
    postgres = next(service["output"] for service in services if service["name"] == "postgres")
    assert "database system is ready to accept connections" in postgres
    assert "database system is shut down" in postgres, "it ended by itself"


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("sandbox", ["required"])
def test_eight_sessions_at_once_never_meet_and_leave_nothing(tmp_path: Path, sandbox: str) -> None:
    """One database, one Redis and one port each, the server killed while all of them work."""
    folder = shop(tmp_path / "shop", pause="sleep 2")
    (tmp_path / "data").mkdir()
    names = [f"session-{number}" for number in range(8)]
    with serving(tmp_path / "data", trust="all", sandbox=sandbox) as server:
        ids = [started(server.client, folder, name) for name in names]
        for _ in range(3):
            until(lambda: len(left_running()) >= 8 or None, what="databases of several sessions", seconds=600)
            server.kill()
            until(lambda: not left_running() or None, what="the end of what they started", seconds=30)
            server.start(patience=120)
        sessions = [ended(server.client, each, seconds=1_200) for each in ids]
        assert [session["status"] for session in sessions] == ["success"] * 8, [s["finalSummary"] for s in sessions]
        assert not left_running()


@pytest.mark.parametrize("sandbox", ["required", pytest.param("off", marks=pytest.mark.nightly)])
def test_a_killed_server_leaves_no_service_behind(tmp_path: Path, sandbox: str) -> None:
    """Redis writes over its variables, and with them the mark by which processes are found."""
    settings = """[[service]]\nname = "redis"\ncommand = "sh -c 'redis-server --port 21397 --dir $TMPDIR; true'"\n"""
    settings += 'ready = "redis-cli -p 21397 ping"\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings, "name.txt": "base"})
    (tmp_path / "data").mkdir()
    fields = {"workspace": str(folder), "validationCommands": ["sleep 60"], "baseline": True}
    with serving(tmp_path / "data", trust="all", sandbox=sandbox) as server:
        id_ = start(server.client, delivery({}, **fields))
        until(lambda: _redis() or None, what="its database", seconds=120)
        server.kill()
        if sandbox == "off":
            server.start()
            server.client.post(f"/api/sessions/{id_}/cancel", json={})
        until(lambda: not _redis() or None, what="the end of what it started", seconds=60)


def _redis() -> list[str]:
    return [line for line in left_running() if "21397" in line]
