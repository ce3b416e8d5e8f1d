"""Fixtures for tests over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.server import inside


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A separate application with an empty log and a worker."""
    with inside(tmp_path, read_after_seconds=5.0) as opened:
        yield opened
