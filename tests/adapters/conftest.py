"""The log under test: a new one for each test, of every kind there is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.store.port import Store
from tests.adapters.stores_under_test import STORES, Database
from tests.kit.postgres import cluster, require

# The twin is used by tests only: it has to pass the same ones nightly.
PARAMETERS = [pytest.param(name, marks=pytest.mark.nightly) if name == "memory" else name for name in STORES]


@pytest.fixture(params=PARAMETERS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "postgres":
        require()
        cluster()  # before threads ask for it
    result = Database(STORES[request.param], tmp_path)
    yield result
    result.close()
    if request.param == "postgres":
        cluster().free(tmp_path)


@pytest.fixture
def store(database: Database) -> Store:
    return database.open()
