"""Servers, workers and commands on PostgreSQL, from outside (contract-2 §14)."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from adapters.store.location import open_store, reading
from adapters.store.migration import migrate
from adapters.store.sql.log import SqlRecorder
from adapters.store.sqlite.views import SqliteViews
from api.app import create_app
from api.cli import view_rebuild
from api.node.settings import Settings
from projections.catalogue import dump
from projections.follow import Follower
from tests.api.server import ROOT, Json, Server, delivery, inside, start, system, until
from tests.kit.commands import Done, command
from tests.kit.postgres import USER, Cluster, require
from tests.kit.programs import done
from tests.kit.surroundings import without_settings
from tests.projections.walks import wander

COMMAND_AGENT = """
[[agents]]
name = "Ada"
roles = ["planner", "architect", "designer", "dev", "reviewer"]
adapter = "command"
settings = { argv = ["/bin/true", "{prompt}"] }
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    result = Cluster(require())
    yield result
    result.remove()


@pytest.fixture
def server(cluster: Cluster, tmp_path: Path) -> Iterator[Server]:
    process = Server(tmp_path, database=cluster.url("postgres"), poll_seconds=0.05)
    yield process
    process.leave()


def ready(server: Server) -> Json:
    session: Json = server.client.get("/readyz").json()
    return session


def environment(cluster: Cluster, folder: Path, **settings: str) -> dict[str, str]:
    """The settings of another machine."""
    return {"HANSARD_DATABASE": cluster.url("postgres"), "HANSARD_DATA_DIR": str(folder / "elsewhere")} | settings


def hansard(cluster: Cluster, folder: Path, *words: str, **settings: str) -> Done:
    """A command on the log, as if from another machine."""
    return command(*words, env=environment(cluster, folder, **settings))


def process(cluster: Cluster, folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The same for a command that stays, if it is not refused."""
    return done(words, env=without_settings() | environment(cluster, folder, **settings), folder=ROOT)


def test_a_delivery_runs_and_every_node_is_listed(cluster: Cluster, server: Server, tmp_path: Path) -> None:
    server.start()
    session_id = start(server.client, delivery())
    until(
        lambda: server.client.get(f"/api/sessions/{session_id}").json()["session"]["status"] == "success",
        what="the end of the delivery",
    )
    result = until(lambda: ready(server) if ready(server).get("nodes") else None, what="the node")
    assert (result["status"], result["store"]) == ("ready", "postgresql")
    assert [(node["name"], node["role"]) for node in result["nodes"]] == [(result["node"], "server")]
    listed = hansard(cluster, tmp_path, "list")
    assert session_id in listed.stdout
    verified = hansard(cluster, tmp_path, "verify")
    assert (verified.returncode, "is complete and unchanged" in verified.stderr) == (0, True)
    server.stop()
    assert cluster.sql("SELECT count(*) FROM hansard.nodes") == [(0,)]


@pytest.mark.alone
def test_while_the_database_is_away_the_server_says_so_within_five_seconds(cluster: Cluster, server: Server) -> None:
    server.start()
    cluster.freeze()
    try:
        for method, path in (("GET", "/readyz"), ("POST", "/api/sessions")):
            began = time.monotonic()
            answer = server.client.request(method, path, json=delivery() if method == "POST" else None)
            assert (answer.status_code, time.monotonic() - began < 5) == (503, True)
            assert "Retry-After" in answer.headers
        assert server.client.get("/api/sessions").status_code == 200  # the views are this node's own
    finally:
        cluster.thaw()
    until(lambda: server.client.get("/readyz").status_code == 200, what="the database again")
    start(server.client, delivery())


def test_a_restart_of_the_database_ends_nothing(cluster: Cluster, server: Server) -> None:
    server.start()
    session_id = start(server.client, delivery())
    cluster.stop()
    assert server.client.get("/readyz").status_code == 503
    cluster.start()
    until(
        lambda: (
            (session := server.client.get(f"/api/sessions/{session_id}")).status_code == 200
            and session.json()["session"]["status"] == "success"
        ),
        what="the end of the delivery",
    )


def test_changes_without_notification_are_found_by_polling(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NOTIFY may get lost; polling still finds new events and waiting turns."""
    from adapters.store.postgres.store import PostgresStore

    monkeypatch.setattr(PostgresStore, "listen", lambda *_: None)
    url = cluster.url("postgres")
    with (
        inside(tmp_path, database=url, data_dir=tmp_path / "one", work=False, poll_seconds=0.1) as one,
        inside(tmp_path, database=url, data_dir=tmp_path / "two", poll_seconds=0.1) as two,
    ):
        session_id = start(one, delivery())
        for each in (two, one):
            until(
                lambda each=each: (  # type: ignore[misc]
                    (result := each.get(f"/api/sessions/{session_id}")).status_code == 200
                    and result.json()["session"]["status"] == "success"
                ),
                what="the end of the delivery",
            )


@pytest.mark.parametrize("words", ["serve", "worker"])
def test_networked_agents_are_refused_next_to_an_open_database(cluster: Cluster, tmp_path: Path, words: str) -> None:
    team = tmp_path / "team.toml"
    team.write_text(COMMAND_AGENT)
    result = process(cluster, tmp_path, words, HANSARD_TEAM=str(team), HANSARD_PORT="0")
    assert (result.returncode, "lets this account in without a password" in result.stderr) == (5, True), result.stderr
    assert "HANSARD_DATABASE_TRUSTED=1" in result.stderr


def test_a_database_with_a_password_is_not_open(cluster: Cluster) -> None:
    from adapters.store.postgres.sealed_log import lets_in_without_password

    assert lets_in_without_password(cluster.url("postgres"))
    cluster.ask_for_passwords("geheim")
    assert not lets_in_without_password(cluster.url("postgres", password="geheim"))


def test_the_log_of_a_newer_version_is_refused_with_exit_code_1(cluster: Cluster, tmp_path: Path) -> None:
    assert hansard(cluster, tmp_path, "rebuild").returncode == 0
    cluster.sql("UPDATE hansard.log SET format = 99")
    for tried, word in ((process, "serve"), (hansard, "list"), (hansard, "verify"), (hansard, "export")):
        result = tried(cluster, tmp_path, word, HANSARD_PORT="0")
        assert (result.returncode, "has format 99" in result.stderr) == (1, True), result
    assert cluster.sql("SELECT format, position FROM hansard.log") == [(99, 0)]


def test_doctor_looks_at_the_database(cluster: Cluster, tmp_path: Path) -> None:
    assert "no log yet (created at first use)" in hansard(cluster, tmp_path, "doctor").stdout
    assert hansard(cluster, tmp_path, "rebuild").returncode == 0
    assert f"{USER}@" not in hansard(cluster, tmp_path, "doctor").stderr
    assert "lets this account in without a password" in hansard(cluster, tmp_path, "doctor").stdout
    cluster.stop()
    result = hansard(cluster, tmp_path, "doctor")
    assert (result.returncode, "does not answer" in result.stdout) == (1, True)


def test_a_log_moves_to_postgresql_and_back_and_repeats_its_first_answers(cluster: Cluster, tmp_path: Path) -> None:
    def begun(database: str) -> bytes:
        with inside(tmp_path, database=database, work=False) as client:
            answer = client.post("/api/sessions", json=delivery(), headers={"Idempotency-Key": "key"})
            assert answer.status_code == 202
            return answer.content

    file, back = tmp_path / "hansard.db", tmp_path / "back.db"
    first = begun(f"sqlite:///{file}")
    for source, target in ((str(file), cluster.url("postgres")), (cluster.url("postgres"), str(back))):
        moved = hansard(cluster, tmp_path, "migrate", source, target)
        assert (moved.returncode, "The copy is complete and unchanged" in moved.stderr) == (0, True), moved
        again = hansard(cluster, tmp_path, "migrate", source, target)
        assert (again.returncode, "already holds a log" in again.stderr) == (4, True), again
        if target == cluster.url("postgres"):
            assert hansard(cluster, tmp_path, "key", "new", "ada", "--scope", "read").returncode == 0
    listed = hansard(cluster, tmp_path, "key", "list", HANSARD_DATABASE=f"sqlite:///{back}")
    assert "ada  read" in listed.stdout
    for database in (cluster.url("postgres"), f"sqlite:///{back}"):
        assert begun(database) == first
    exported = [hansard(cluster, tmp_path, "export", "--database", str(place)).stdout for place in (file, back)]
    assert exported[0] == exported[1] == hansard(cluster, tmp_path, "export").stdout != ""


# -- keys ----------------------------------------------------------------------------------------------------------


def test_a_key_and_a_sign_in_hold_on_every_node_until_the_key_is_revoked(cluster: Cluster, tmp_path: Path) -> None:
    url = cluster.url("postgres")
    made = hansard(cluster, tmp_path, "key", "new", "ada", "--scope", "decide")
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    again = hansard(cluster, tmp_path, "key", "new", "ada")
    assert (again.returncode, "already has a key for ada" in again.stderr) == (4, True)
    nodes = [Settings(database=url, data_dir=tmp_path / name, auth="key") for name in ("one", "two")]
    with ExitStack() as opened:
        one, two = (
            opened.enter_context(TestClient(create_app(node, work=False), base_url="http://127.0.0.1"))
            for node in nodes
        )
        with_key = {"Authorization": f"Bearer {key}"}
        assert [each.get("/api/sessions", headers=with_key).status_code for each in (one, two)] == [200, 200]
        signed = one.post("/login", data={"apiKey": key}, follow_redirects=False)
        assert signed.status_code == 303
        two.cookies = one.cookies
        assert two.get("/api/sessions").status_code == 200
        link = system(one).logins
        assert link is not None
        token = link.link("ada")
        answers = [two.get(f"/login?once={token}", follow_redirects=False).status_code for _ in range(2)]
        assert answers == [303, 401]
        listed = hansard(cluster, tmp_path, "key", "list").stdout
        assert "ada  decide" in listed and key not in listed
        assert hansard(cluster, tmp_path, "key", "revoke", "ada").returncode == 0
        for each in (one, two):
            until(lambda each=each: each.get("/api/sessions", headers=with_key).status_code == 401, what="a 401")  # type: ignore[misc]
        assert two.get("/api/sessions").status_code == 401
    assert cluster.sql("SELECT count(*) FROM hansard.keys WHERE digest LIKE 'hansard%'") == [(0,)]


def test_the_first_node_makes_the_owners_key_and_a_file_of_keys_is_taken_over(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    assert hansard(cluster, tmp_path, "key", "new", "bob", "--scope", "read", "--file", str(file)).returncode == 0
    places = [tmp_path / name for name in ("one", "two")]
    for place in places:
        settings = Settings(database=cluster.url("postgres"), data_dir=place, auth="key", api_keys_file=file)
        with TestClient(create_app(settings, work=False), base_url="http://127.0.0.1"):
            pass
    assert [(place / "keys" / "owner.key").exists() for place in places] == [True, False]
    assert (places[0] / "keys" / "owner.key").stat().st_mode & 0o077 == 0
    scopes = cluster.sql("SELECT name, scope FROM hansard.keys ORDER BY name = 'bob'")
    assert [scope for _, scope in scopes] == ["admin", "read"]
    other = hansard(cluster, tmp_path, "key", "owner")
    assert (other.returncode, "another machine has the owner's key" in other.stderr) == (3, True)


def test_several_processes_rebuild_the_views_of_a_shared_log(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_rebuild, "WORTH", 50)
    monkeypatch.setattr(view_rebuild.os, "sched_getaffinity", lambda _: {0, 1})
    with (
        closing(wander(tmp_path, 6, 60).store) as own,
        reading(f"sqlite:///{own.path}") as source,
        closing(open_store(cluster.url("postgres"))) as store,
        closing(SqliteViews(tmp_path / "views.db")) as views,
    ):
        assert isinstance(store, SqlRecorder)
        migrate(source, store)
        follower = Follower(store, views)
        follower.rebuild()
        whole = dump(views)
        follower.empty()
        monkeypatch.setattr(Follower, "rebuild", None)
        assert view_rebuild.rebuild(follower, store, cluster.url("postgres")) == store.head()
        assert dump(views) == whole


def test_machines_that_share_a_database_announce_their_agents_through_it(cluster: Cluster) -> None:
    first, second = (open_store(cluster.url("postgres")) for _ in range(2))
    first.attend("a.m.1", "worker", '{"Ada": null}')
    first.attend("b.m.2", "server")
    assert {node.name: node.agents for node in second.nodes()} == {"a.m.1": '{"Ada": null}', "b.m.2": ""}
    first.leave("a.m.1")
    assert [node.name for node in second.nodes()] == ["b.m.2"]
    first.close()
    second.close()
