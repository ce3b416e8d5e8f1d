"""Every store is a recorder of the eventsourcing library: it passes the library's own test cases.

Two things differ, and are overridden: our ids are text, and our versions begin at 1 everywhere.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from eventsourcing.persistence import ApplicationRecorder, StoredEvent
from eventsourcing.tests import persistence as library

from adapters.store.location import open_store
from adapters.store.sqlite.store import SqliteStore
from tests.kit.memory_store import MemoryStore
from tests.kit.postgres import cluster, require


class FromOne:
    """A recorder for the library's cases that count versions from 0."""

    def __init__(self, recorder: ApplicationRecorder) -> None:
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recorder, name)

    def insert_events(self, stored_events: Sequence[StoredEvent]) -> Sequence[int] | None:
        shifted = [replace(event, originator_version=event.originator_version + 1) for event in stored_events]
        return self._recorder.insert_events(shifted)


class _Cases(library.ApplicationRecorderTestCase):
    from_one = False

    def new_originator_id(self) -> str:
        return f"delivery-{uuid4().hex}"

    def new_store(self) -> ApplicationRecorder:
        raise NotImplementedError

    def create_recorder(self) -> ApplicationRecorder:
        store = self.new_store()
        return FromOne(store) if self.from_one else store  # type: ignore[return-value]  # it is one to the library

    def test_concurrent_no_conflicts(self, initial_position: int = 0) -> None:
        self.from_one = True
        super().test_concurrent_no_conflicts(initial_position)

    def test_concurrent_throughput(self) -> None:
        self.from_one = True
        super().test_concurrent_throughput()


class _Order(library.NonInterleavingNotificationIDsBaseCase):
    """The positions of two transactions at once never interleave."""

    def new_originator_id(self) -> str:
        return f"delivery-{uuid4().hex}"

    def new_store(self) -> ApplicationRecorder:
        raise NotImplementedError

    def create_recorder(self) -> ApplicationRecorder:
        return FromOne(self.new_store())  # type: ignore[return-value]  # it is one to the library


class _OnSqlite:
    def new_store(self) -> ApplicationRecorder:
        folder = tempfile.TemporaryDirectory()
        store = SqliteStore(str(Path(folder.name) / "log.db"))
        self.addCleanup(folder.cleanup)  # type: ignore[attr-defined]  # of TestCase
        self.addCleanup(store.close)  # type: ignore[attr-defined]
        return store


class _InMemory:
    def new_store(self) -> ApplicationRecorder:
        return MemoryStore()


class _OnPostgres:
    def new_store(self) -> ApplicationRecorder:
        require()
        folder = Path(uuid4().hex)
        store = open_store(cluster().database(folder))
        self.addCleanup(cluster().free, folder)  # type: ignore[attr-defined]
        self.addCleanup(store.close)  # type: ignore[attr-defined]
        return cast(ApplicationRecorder, store)


class TestSqlite(_OnSqlite, _Cases):
    pass


class TestMemory(_InMemory, _Cases):
    pass


class TestPostgres(_OnPostgres, _Cases):
    pass


class TestOrderOnPostgres(_OnPostgres, _Order):
    pass


class TestOrderOnSqlite(_OnSqlite, _Order):
    pass


class TestOrderInMemory(_InMemory, _Order):
    pass


del _Cases, _Order
