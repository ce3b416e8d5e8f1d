"""What the store on PostgreSQL promises besides what every store does: see `adapters/store/postgres`."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from adapters.proof.verify import verify
from adapters.store.errors import Broken, StoreError
from adapters.store.location import open_store, reading
from domain.values.base import Text
from tests.adapters.stores_under_test import Database, delivery_story, write
from tests.api.server import until
from tests.kit.postgres import Cluster, cluster, require

psycopg = pytest.importorskip("psycopg", reason="NOT TESTED ON POSTGRESQL: psycopg is not installed")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    require()
    result = Database(lambda path: open_store(cluster().database(path)), tmp_path)
    yield result
    result.close()
    cluster().free(tmp_path)


@pytest.fixture
def own() -> Iterator[Cluster]:
    """A server of the test's own, that it may stop."""
    result = Cluster(require())
    yield result
    result.remove()


@contextmanager
def impatience() -> Iterator[None]:
    """Stores wait for a fraction of a second only: for a database that is known not to answer."""
    from adapters.store.postgres import connection, store

    with (
        patch.object(connection.PatientConnection, "patience", 0.7),
        patch.object(connection, "_PAUSE", 0.01),
        patch.object(store, "_SETTLING_SECONDS", 0.3),
    ):
        yield


def name_of(database: Database) -> str:
    return cluster().database(database.path).split("?")[0].rpartition("/")[2]


# -- what is refused -----------------------------------------------------------------------------------------------


def test_the_log_of_the_first_version_is_read_as_it_is_and_learns_how_its_events_are_hashed(database: Database) -> None:
    store = database.open()
    store.append([write(delivery_story().begun)])
    store.close()
    first = "ALTER TABLE hansard.events DROP COLUMN form; UPDATE hansard.log SET format = 1"
    cluster().sql(first, database=name_of(database))
    with reading(cluster().url(name_of(database))) as log:
        assert {row.form for row in log.rows.events()} == {1}
    again = database.open()
    again.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    assert [row.form for row in again.rows.events()] == [1, 1, 1, 2, 2, 2]


def test_the_log_of_a_newer_hansard_is_refused_and_not_changed(database: Database) -> None:
    database.open().append([write(delivery_story().begun)])
    cluster().sql("UPDATE hansard.log SET format = 3", database=name_of(database))
    before = cluster().sql("SELECT * FROM hansard.log", database=name_of(database))
    with pytest.raises(Broken, match="has format 3; this Hansard knows format 2"):
        database.open()
    assert cluster().sql("SELECT * FROM hansard.log", database=name_of(database)) == before


def test_an_older_process_stops_writing_when_a_newer_one_takes_over(database: Database) -> None:
    store = database.open()
    store.append([write(delivery_story().begun)])
    cluster().sql("UPDATE hansard.log SET format = 3", database=name_of(database))
    with pytest.raises(Broken, match="has format 3"):
        store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    assert store.head() == store.rows.last_given() == 3


def test_an_older_process_says_that_it_cannot_write_until_it_can(database: Database) -> None:
    store = database.open()
    cluster().sql("UPDATE hansard.log SET format = 3", database=name_of(database))
    with pytest.raises(Broken):
        store.append([write(delivery_story().begun)])
    store.attend("old", "server")  # is written, but no event would be
    assert store.failing
    assert "has format 3" in (store.failure() or "")
    cluster().sql("UPDATE hansard.log SET format = 2", database=name_of(database))
    assert (store.failure(), store.failing) == (None, False)
    store.append([write(delivery_story().begun)])


def test_another_programs_schema_is_refused_and_not_changed(database: Database) -> None:
    name = name_of(database)
    cluster().sql("CREATE SCHEMA hansard", "CREATE TABLE hansard.events (id int)", database=name)
    with pytest.raises(Broken, match=r'The schema "hansard" of the database .* belongs to another program'):
        database.open()
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'hansard'"
    assert cluster().sql(tables, database=name) == [("events",)]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("CREATE TABLE hansard.more (n int)", "it has a table that is not ours: more"),
        ("CREATE VIEW hansard.seen AS SELECT 1", "it has a view that is not ours: seen"),
        ("CREATE RULE quiet AS ON DELETE TO hansard.texts DO INSTEAD NOTHING", "it has a rule that is not ours: quiet"),
        ("CREATE POLICY hidden ON hansard.events USING (false)", "it has a policy that is not ours: hidden"),
        (
            "CREATE TRIGGER swift BEFORE UPDATE ON hansard.turns FOR EACH ROW"
            " EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "it has a trigger that is not ours: swift",
        ),
        ("DROP TABLE hansard.turns", "the table turns is missing"),
    ],
)
def test_what_is_not_of_our_schema_is_found(database: Database, statement: str, problem: str) -> None:
    database.open().append([write(delivery_story().begun)])
    url = cluster().database(database.path)
    with reading(url) as log:
        assert verify(log).faults == []
    cluster().sql(statement, database=name_of(database))
    with reading(url) as log:
        assert f"PostgreSQL: {problem}" in [fault.problem for fault in verify(log).faults]


@pytest.mark.parametrize("whose", ["DATABASE {name}", "ROLE CURRENT_USER IN DATABASE {name}"])
@pytest.mark.parametrize("value", ["off", "local"])
def test_every_connection_waits_for_its_commits(database: Database, whose: str, value: str) -> None:
    """Whatever the default of the database or of the account is, from the start or changed later."""
    which = whose.format(name=name_of(database))
    for opened_before in (True, False):
        before = database.open() if opened_before else None
        cluster().sql(f"ALTER {which} SET synchronous_commit = {value}")
        try:
            store = before or database.open()
            for pool in (store._readers, store._writers):
                pool._close_idle()  # what is lent from now on is opened now
                with pool.lent() as connection:
                    assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        finally:
            cluster().sql(f"ALTER {which} RESET synchronous_commit")


@pytest.mark.parametrize(
    ("change", "reason"),
    [("fsync = off", "runs with fsync=off"), ("default_transaction_read_only = on", "is read-only now")],
)
def test_a_database_that_changes_under_a_store_is_noticed(
    own: Cluster, monkeypatch: pytest.MonkeyPatch, change: str, reason: str
) -> None:
    """Without a command, and it is over without a new start."""
    monkeypatch.setattr("adapters.store.postgres.store.LOOK_SECONDS", 0.1)
    monkeypatch.setattr("adapters.store.postgres.news.LOOK_SECONDS", 0.1)
    store = open_store(own.url("postgres"))
    store.listen(lambda: None)
    try:
        store.append([write(delivery_story().begun)])
        assert not store.failing
        own.sql(f"ALTER SYSTEM SET {change}", "SELECT pg_reload_conf()")
        until(lambda: store.failing, what="that it is noticed")
        assert reason in (store.failure() or "")
        with pytest.raises(StoreError, match=reason):
            store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
        own.sql(
            "SET default_transaction_read_only = off",
            f"ALTER SYSTEM RESET {change.split()[0]}",
            "SELECT pg_reload_conf()",
        )
        until(lambda: store.failure() is None, what="that it is over")
        store.append([write(delivery_story("delivery-3").begun, session_id="delivery-3")])
    finally:
        store.close()


def test_a_server_without_fsync_is_refused() -> None:
    server = Cluster(require(), fsync="off")
    try:
        with pytest.raises(Broken, match="runs with fsync=off"):
            open_store(server.url("postgres"))
    finally:
        server.remove()


def test_the_librarys_database_functions_are_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_ENABLE_DB_FUNCTIONS", "y")
    with pytest.raises(Broken, match="readers can miss events"):
        database.open()


def test_a_pooler_that_drops_the_settings_of_a_connection_is_refused_before_anything_is_made(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PgBouncer does with `ignore_startup_parameters = options`: our tables would be made in another schema."""
    from adapters.store.postgres import connection, trial

    url = cluster().database(database.path)
    monkeypatch.setitem(connection._SESSION, "search_path", "public")  # type: ignore[index]
    monkeypatch.delitem(connection._SESSION, "lock_timeout")  # type: ignore[arg-type]
    with pytest.raises(Broken, match=r"does not get the settings of the connection \(search_path\): a pooler"):
        open_store(url)
    assert cluster().sql("SELECT count(*) FROM pg_tables WHERE tablename = 'events'", database=name_of(database)) == [
        (0,)
    ]
    with pytest.raises(StoreError, match=r"\(lock_timeout\): a pooler drops them"):
        trial.try_out(url, has_log=False)


def test_a_database_that_has_to_be_the_primary_is_one_for_readers_too(database: Database) -> None:
    """They make no changes themselves, but are not what decides whether the server takes any."""
    from adapters.store.postgres.sealed_log import inspect, lets_in_without_password, sealed_database

    url = cluster().database(database.path)
    both = url.replace(f"host={cluster().folder}", f"host=/nowhere,{cluster().folder}&target_session_attrs=read-write")
    store = open_store(both)
    store.append([write(delivery_story().begun)])
    store.close()
    assert inspect(both).head == 3 and lets_in_without_password(both)
    with (
        sealed_database(both) as log,
        pytest.raises(StoreError, match="read-only transaction"),
        log._reading() as connection,
    ):
        connection.execute("DELETE FROM texts")


def test_no_message_shows_the_password(own: Cluster) -> None:
    own.stop()
    for url in (f"postgresql://me:geheim@/db?host={own.folder}", "postgresql://me:geheim@host:port/db"):
        with pytest.raises(StoreError) as result:
            open_store(url)
        assert "geheim" not in str(result.value)


# -- a database that goes away -------------------------------------------------------------------------------------


def test_a_frozen_database_blocks_no_caller_and_is_used_again_when_it_answers(own: Cluster) -> None:
    store = open_store(own.url("postgres"))
    store.append([write(delivery_story().begun)])
    own.freeze()
    try:
        with impatience():
            with pytest.raises(StoreError, match="does not answer"):
                store.head()
            with pytest.raises(StoreError, match="does not answer"):
                store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
            assert store.failing
            assert "does not answer" in (store.failure() or "")
    finally:
        own.thaw()
    until(lambda: store.failure() is None, what="the database again")
    assert store.head() == 3
    store.close()


def test_requests_after_a_restart_of_the_database_succeed(own: Cluster) -> None:
    store = open_store(own.url("postgres"))
    store.append([write(delivery_story().begun)])
    own.stop()
    own.start()
    assert store.head() == 3
    store.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    assert store.head() == 6
    store.close()


def test_a_former_primary_that_takes_changes_again_is_left_alone(own: Cluster) -> None:
    """It froze, its standby was promoted, and then it went on: who writes to both has two logs."""
    from adapters.store.postgres.connection import Connections

    standby = Cluster.standby(own)
    both = f"postgresql://hansard@/postgres?host={own.folder},{standby.folder}&target_session_attrs=read-write"
    store = open_store(both)

    def written(name: str) -> bool:
        with suppress(StoreError):
            store.append([write(delivery_story(name).begun, session_id=name)])
            return True
        return False

    try:
        assert written("delivery-1")
        until(lambda: standby.replayed(own), what="the standby")
        own.freeze()
        standby.sql("SELECT pg_promote()")
        with impatience():
            until(lambda: written("delivery-2"), what="the new primary")
        own.thaw()
        standby.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hansard'")
        until(lambda: written("delivery-3"), what="a connection that was opened anew")
        counts = [each.sql("SELECT count(*) FROM hansard.events") for each in (own, standby)]
        assert counts == [[(3,)], [(9,)]]
        alone = Connections(own.url("postgres"), size=1, outage=store._outage)
        with pytest.raises(StoreError, match="Another server has taken over"), alone.lent():
            pass
    finally:
        store.close()
        standby.remove()


@pytest.mark.parametrize("committed", [True, False])
def test_an_unconfirmed_commit_is_looked_up(
    database: Database, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """The connection breaks after the commit, or just before it."""
    from adapters.store.postgres.connection import PatientConnection

    store = database.open()
    real = PatientConnection.execute

    def execute(self: PatientConnection, query: Any, *given: Any, **named: Any) -> Any:
        if query == "COMMIT":
            if committed:
                real(self, query)
            monkeypatch.undo()
            self.close()
            raise psycopg.OperationalError("the connection is gone")
        return real(self, query, *given, **named)

    monkeypatch.setattr(PatientConnection, "execute", execute)
    if committed:
        [recorded] = store.append([write(delivery_story().begun, key="key")])
        assert [result.position for result in recorded] == [1, 2, 3]
        assert store.receipt("key") is not None
    else:
        with pytest.raises(StoreError, match="does not answer: the connection is gone"):
            store.append([write(delivery_story().begun, key="key")])
        assert store.receipt("key") is None
    assert store.head() == (3 if committed else 0)


def test_a_long_text_takes_its_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no reason to take the database for one that does not answer; a transcript may have 64 MiB."""
    from adapters.store.postgres.connection import PatientConnection

    store = database.open()
    monkeypatch.setattr(PatientConnection, "patience", 0.2)
    _, [blob] = Text.of(random.Random(1).randbytes(15_000_000).hex())  # noqa: S311 - hardly to be compressed
    store.append([write(delivery_story().begun, blobs=[blob])])
    assert store.head() == 3
    assert store.text(blob.digest) == blob.content


def test_tables_are_made_though_that_takes_long(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that has much else to do; nobody waits for an answer yet."""
    from adapters.store.postgres import schema
    from adapters.store.postgres.connection import PatientConnection

    monkeypatch.setattr(PatientConnection, "patience", 0.7)
    monkeypatch.setattr(schema, "SCHEMA", f"SELECT pg_sleep(1); {schema.SCHEMA}")
    assert database.open().head() == 0


def test_no_other_caller_waits_for_a_long_text(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored before the log is locked."""
    from adapters.store.postgres import store as module

    here, there = database.open(), database.open()
    real, meanwhile = module.insert_rows, iter([write(delivery_story("delivery-2").begun, session_id="delivery-2")])

    def insert_rows(connection: Any, table: Any, *rest: Any) -> None:
        for one in meanwhile if table == "texts" else ():
            there.append([one])
        real(connection, table, *rest)

    monkeypatch.setattr(module, "insert_rows", insert_rows)
    _, [blob] = Text.of("x" * 2_000_000)
    [recorded] = here.append([write(delivery_story().begun, blobs=[blob])])
    assert [result.position for result in recorded] == [4, 5, 6]
    assert here.text(blob.digest) == blob.content


# -- several processes ---------------------------------------------------------------------------------------------


def test_a_listener_is_woken_by_writes_of_another_process(database: Database) -> None:
    woken = threading.Event()
    here, there = database.open(), database.open()
    here.listen(woken.set)
    assert woken.wait(10)  # it listens now
    woken.clear()
    there.append([write(delivery_story().begun)])
    assert woken.wait(10)


def test_leases_and_deadlines_use_the_clock_of_the_database(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine's clock is an hour behind."""
    from adapters import clock

    real = clock.Clock.__call__
    monkeypatch.setattr(clock.Clock, "__call__", lambda self: real(self) - 3_600_000)
    store = database.open()
    [(there,)] = cluster().sql("SELECT extract(epoch FROM now()) * 1000")
    assert abs(store.clock() - int(there)) < 60_000
