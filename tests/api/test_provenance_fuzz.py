"""Random rewriting: blame agrees with the model, whatever people did to their branch."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.api.rewriting import Rewriter, Score, letter, rewriter, statement
from tests.api.server import inside


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with inside(tmp_path_factory.mktemp("rewriting")) as result:
        yield result


def rewritten(rewriter: Rewriter, steps: int, *, deliveries: int, looks: int) -> tuple[Score, Score]:
    """Take this many steps; return the lines right after each delivery and at each later check."""
    fresh, later = Score(), Score()
    for step in range(steps):
        if step % deliveries == 0:
            fresh.add(rewriter.deliver())
        rewriter.step()
        if step % looks == looks - 1:
            later.add(rewriter.score())
    return fresh, later


def summary(rewriter: Rewriter, *scores: Score) -> str:
    return f"{scores} after {Counter(rewriter.done)}; the last steps: {rewriter.done[-20:]}"


def _rewrite(folder: Path, client: httpx.Client, seed: str, word: Callable[[int], str], steps: int) -> None:
    result = rewriter(folder / "shop", client, seed, word)
    fresh, later = rewritten(result, steps, deliveries=max(60, steps // 100), looks=max(20, steps // 200))
    words = f"seed {seed}: {summary(result, fresh, later)}"
    assert fresh.false == later.false == 0, words
    assert fresh.lines and fresh.right == fresh.lines, words
    assert later.restored, words
    assert later.lines and later.right / later.lines >= 0.995, words


@pytest.mark.parametrize(("seed", "word"), [pytest.param("1", letter, marks=pytest.mark.nightly), ("2", statement)])
def test_lines_are_found_after_many_steps(
    tmp_path: Path, client: httpx.Client, seed: str, word: Callable[[int], str]
) -> None:
    _rewrite(tmp_path, client, seed, word, 60)


@pytest.mark.nightly
@pytest.mark.parametrize(("seed", "word"), [("3", letter), ("4", statement)])
def test_lines_are_found_after_10_000_steps(
    tmp_path: Path, client: httpx.Client, seed: str, word: Callable[[int], str]
) -> None:
    _rewrite(tmp_path, client, seed, word, 10_000)
