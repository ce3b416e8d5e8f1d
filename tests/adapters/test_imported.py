"""What an import keeps of sessions in which a text was redacted or a failed turn was retried."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.proof.transfer import export, take_in
from adapters.proof.verify import verify
from adapters.store.port import Store
from domain.session.turns import RetryTurn, TurnAnswered
from tests.kit.claiming import claim
from tests.projections.stage import Stage


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Stage]:
    """The other log."""
    folder = tmp_path / "there"
    folder.mkdir()
    with closing((stage := Stage(folder)).store):
        yield stage


def test_a_redacted_log_comes_in_and_goes_out_again_to_the_byte(there: Stage, store: Store) -> None:
    """So that what was noted about the log elsewhere, such as its root, still fits."""
    there.delivers("delivery-1").answers("delivery-1", "sk-secret-123 " + "x" * 20_000)
    [reply] = [each.event.reply for each in there.events() if isinstance(each.event, TurnAnswered)]
    assert reply.digest is not None
    there.redacts(reply.digest).answers("delivery-1", "One module.")
    lines = list(export(there.store))
    take_in(store, lines)
    assert list(export(store)) == lines
    original, imported = verify(there.store), verify(store)
    assert (original.faults, imported.faults) == ([], [])
    assert imported.root == original.root
    assert [text.digest for text in imported.redacted] == [reply.digest]


def test_a_failed_turn_that_was_retried_is_open_after_the_import_and_never_run(there: Stage, store: Store) -> None:
    for name in ("delivery-1", "delivery-2"):
        there.delivers(name).fails(name).do(name, RetryTurn(reason="once more"))
    there.answers("delivery-2", "One step.")
    take_in(store, export(there.store))
    assert verify(store).faults == []
    assert list(store.rows.open_turns()) == ["delivery-1.t1", "delivery-2.t2"]
    assert claim(store, "worker", now=2**60, lease_ms=1) is None
    assert not store.turns.waiting(2**60) and store.turns.overdue(2**60) == []
