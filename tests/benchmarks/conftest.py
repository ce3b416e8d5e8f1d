"""What all benchmarks share: the garbage collection of a server, and the report of what was measured."""

import gc
from collections.abc import Callable, Iterator

import pytest

from api.cli.server import ALLOCATIONS
from tests.benchmarks.measuring import Tell
from tests.kit.programs import fresh


@pytest.fixture(autouse=True, scope="module")
def _started_as_by_users() -> Iterator[None]:
    with fresh():
        yield


@pytest.fixture(autouse=True)
def _collected_as_in_a_server() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]) -> Tell:
    """Prints a sentence with what was measured at once, and keeps it for the report."""

    def say(sentence: str) -> None:
        record_property("measured", sentence)
        with capsys.disabled():
            print(f"\n  {sentence}", end=" ")  # noqa: T201 - the figures are the result

    return say
