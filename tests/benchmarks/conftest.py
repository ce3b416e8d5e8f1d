"""How what was measured is told."""

from collections.abc import Callable

import pytest

from tests.benchmarks.measuring import Tell


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]) -> Tell:
    """Figures are for people: told at once, and kept in the report."""

    def say(sentence: str) -> None:
        record_property("measured", sentence)
        with capsys.disabled():
            print(f"\n  {sentence}", end=" ")  # noqa: T201 - the figures are the result

    return say
