"""Servers for the tests of the API's conventions: one per file."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.api.manners.parts import START
from tests.api.server import (
    Server,
    inside,
    serving,
    start,
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("manners"), worker_slots=256, read_after_seconds=0.1) as result:
        yield result


@pytest.fixture
def waiting(client: TestClient) -> str:
    """A session at version 3."""
    return start(client, START)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("plain"), worker_slots=64) as result:
        yield result
