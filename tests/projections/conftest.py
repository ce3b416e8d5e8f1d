"""Databases in the test's own folder, closed afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.store.port import Store
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(str(tmp_path / "log.db"))
    yield store
    store.close()


@pytest.fixture
def views(tmp_path: Path) -> Iterator[SqliteViews]:
    views = SqliteViews(tmp_path / "views.db")
    yield views
    views.close()
