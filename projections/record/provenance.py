"""Where a line comes from: the turn that wrote it, and what the session's history says around that turn."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.delivery.events import ReviewApproved, ReviewBlockingDetected, TestsPassed
from domain.orchestration.events import VerdictGiven
from domain.session.record import Recorded, Whole
from domain.session.turns import TurnAnswered, TurnRequested
from projections.views.blame import Approval, Demand


@dataclass(slots=True)
class Authorship:
    """A turn that changed files. `lines` are those that it added, each as often as it did."""

    session: str
    turn: str
    agent: str
    model: str | None
    iteration: int | None
    demanded_by: Demand | None
    lines: Counter[str]
    validated_by: int | None = None
    approved_by: Approval | None = None


@dataclass(slots=True)
class _Reader:
    whole: Whole
    found: dict[str, Authorship] = field(default_factory=dict)
    requests: dict[str, TurnRequested] = field(default_factory=dict)
    demand: Demand | None = None

    def read(self, recorded: Recorded) -> None:
        match recorded.event:
            case TurnRequested() as event:
                self.requests[event.turn_id] = event
            case TurnAnswered() as event if event.patch is not None and event.files:
                self._wrote(recorded, event)
            case ReviewBlockingDetected() as event:
                title = event.blocking_issues[0].title if event.blocking_issues else ""
                self.demand = Demand(version=recorded.version, title=title)
            case TestsPassed():
                for author in self.found.values():
                    author.validated_by = author.validated_by or recorded.version
            case ReviewApproved():
                self._approved(recorded, "")
            case VerdictGiven(passed=True) as event if event.judged:
                self._approved(recorded, event.agent)

    def _wrote(self, recorded: Recorded, event: TurnAnswered) -> None:
        assert event.patch is not None, "only turns with a patch wrote something"
        request = self.requests.get(event.turn_id)
        self.found[event.turn_id] = Authorship(
            session=recorded.session_id,
            turn=event.turn_id,
            agent=event.agent,
            model=event.model,
            iteration=(request.iteration or request.round) if request else None,
            demanded_by=self.demand,
            lines=_added(self.whole(event.patch)),
        )

    def _approved(self, recorded: Recorded, agent: str) -> None:
        """Of one agent's work, or of all."""
        by = Approval(version=recorded.version, actor=recorded.causation.actor)
        for author in self.found.values():
            if agent in ("", author.agent):
                author.approved_by = author.approved_by or by


def authors(history: Sequence[Recorded], whole: Whole) -> dict[str, Authorship]:
    """The turns of a session that changed files, by id."""
    reader = _Reader(whole)
    for recorded in history:
        reader.read(recorded)
    return reader.found


def _added(patch: str) -> Counter[str]:
    return Counter(line[1:] for line in patch.split("\n") if line.startswith("+") and not line.startswith("+++ "))
