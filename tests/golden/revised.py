"""Scenes of the golden logs: people want changes in results, and in work that is under way."""

from collections.abc import Callable
from typing import Final

from domain.delivery.chart import NEEDED
from domain.delivery.commands import CancelDelivery
from domain.session.revisions import ReviseSession
from domain.values.base import Text
from tests.golden.happenings import PREPARED
from tests.golden.scenes import validated
from tests.projections.stage import Stage, plan, subtask, verdicts


def revised(stage: Stage) -> None:
    """A delivery that is revised after its end and while it works, and one that is cancelled with a queued request; a
    run, and a direct answer."""
    stage.delivers("delivery-revised", phases=NEEDED)
    _works(stage, "delivery-revised", prepared=True)
    stage.do("delivery-revised", wants("Say hello, too."))
    stage.do("delivery-revised", wants("And goodbye."))
    _works(stage, "delivery-revised")
    _works(stage, "delivery-revised")
    stage.do("delivery-revised", wants("One more.", add_iterations=1, add_minutes=5))
    stage.delivers("delivery-called-off", phases=NEEDED)
    stage.answers("delivery-called-off", "Written.", prepared=PREPARED)
    stage.do("delivery-called-off", wants("No, otherwise."))
    stage.do("delivery-called-off", CancelDelivery(reason="not needed"))
    stage.orchestrates("orchestration-revised")
    for words in (plan(subtask(start_phase=3, end_phase=3)), "Built.", verdicts(Backend=True, all_done=True)):
        stage.answers("orchestration-revised", words)
    stage.do("orchestration-revised", wants("Say hello, too.", add_rounds=2))
    stage.answers("orchestration-revised", "Built again.")
    stage.do("orchestration-revised", wants("And goodbye."))
    stage.answers("orchestration-revised", verdicts(Backend=True, all_done=True))


def wants(words: str, **amounts: int) -> ReviseSession:
    text, blobs = Text.of(words)
    return ReviseSession(text=text, blobs=blobs, actor="person:ann", **amounts)


def _works(stage: Stage, name: str, *, prepared: bool = False) -> None:
    """The developer answers, and the validation passes."""
    stage.answers(name, "Written.", **({"prepared": PREPARED} if prepared else {}))
    validated(stage, name)


SCENES: Final[dict[str, Callable[[Stage], None]]] = {"revised": revised}
