"""Logs of versions without digests of receipts get the column when they are opened; old receipts stay as they are."""

from contextlib import closing
from pathlib import Path

import psycopg

from adapters.store.location import open_store
from tests.adapters.audited import harmed
from tests.adapters.stores_under_test import receipt, write
from tests.kit.postgres import cluster

DROPPED = "ALTER TABLE {}receipts DROP COLUMN digest"


def check(url: str, drop: str, log: Path | None) -> None:
    with closing(open_store(url)) as store:
        store.append([write(key="old")])
    if log is None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(drop.encode())
    else:
        harmed(log, drop)
    with closing(open_store(url)) as store:
        store.append([write(key="new")])
        assert store.receipts(["old", "new"]) == {key: receipt(key) for key in ("old", "new")}
        digests = {key: digest for key, *_, digest in store.rows.receipts()}
        assert digests == {"old": None, "new": receipt("new").digest}


def test_a_sqlite_log_without_digests_gets_them(tmp_path: Path) -> None:
    check(f"sqlite:///{tmp_path / 'log.db'}", DROPPED.format(""), tmp_path / "log.db")


def test_a_database_without_digests_gets_them(tmp_path: Path) -> None:
    check(cluster().database(tmp_path), DROPPED.format("hansard."), None)
