"""The history behind a session's state: which event recorded what, for charts and matrices."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.children import ChildClosed, ChildRequested
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.values.base import DomainEvent
from projections.record.describe import is_person
from projections.record.important import is_important, tone_of


class Numbered(Protocol):
    @property
    def version(self) -> int: ...


class Step(NamedTuple):
    """The session entered a state, perhaps again."""

    version: int
    state: str


class Light(NamedTuple):
    """An event that readers should not miss."""

    version: int
    tone: str


class CountMark(NamedTuple):
    """Something counted: the n-th round, assessment, plan."""

    version: int
    number: int


class Verdict(NamedTuple):
    """A verdict on an agent: by the judge about `phases`, by a person who overturned it, or unreadable (K-15)."""

    version: int
    place: int
    round: int
    phases: tuple[int, ...]
    passed: bool
    feedback: str
    by: str


class ClaimMark(NamedTuple):
    """Phases that an agent claims to have completed; a claim is no verdict (K-12)."""

    version: int
    place: int
    round: int
    phases: tuple[int, ...]
    result: str


class ReviewMark(NamedTuple):
    """The findings of the delivery's own reviewer (S4 §9.3)."""

    version: int
    iteration: int
    artifact: str
    approved: bool
    score: int | None
    remarks: int | None
    issues: tuple[tuple[str, str], ...]
    fixes: tuple[str, ...]


class Opened(NamedTuple):
    """A discussion about this session began."""

    version: int
    child: str
    kind: str
    about: str
    strategy: str


class Closed(NamedTuple):
    """A discussion about this session ended."""

    version: int
    child: str
    choice: str
    by: str
    rounds: int


class ForkMark(NamedTuple):
    """The history up to here was copied from `source`, up to its event `source_version`."""

    version: int
    source: str
    source_version: int


class Left(NamedTuple):
    """The rest of the budget: iterations or rounds, and the usage reported so far."""

    version: int
    ms: int
    left: int
    total: int
    tokens: int | None
    cost: int | None


N = TypeVar("N", bound=Numbered)


def upto(marks: Sequence[N], version: int) -> Sequence[N]:
    """Its part up to that event."""
    return marks[: bisect_right(marks, version, key=lambda mark: mark.version)]


@dataclass(slots=True)
class Trail:
    """A history, event by event in the order of versions."""

    version: int = 0
    at: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    lights: list[Light] = field(default_factory=list)
    rounds: list[CountMark] = field(default_factory=list)
    plans: list[CountMark] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    claims: list[ClaimMark] = field(default_factory=list)
    outcomes: list[ReviewMark] = field(default_factory=list)
    opened: list[Opened] = field(default_factory=list)
    closed: list[Closed] = field(default_factory=list)
    forks: list[ForkMark] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    syntheses: list[CountMark] = field(default_factory=list)
    asked: list[CountMark] = field(default_factory=list)
    answered: list[CountMark] = field(default_factory=list)
    _budget: dict[str, Any] = field(default_factory=dict)

    def add(self, recorded: Recorded) -> None:
        """Apply one more event. `version` is set last, so readers never see half of it."""
        event, version = recorded.event, recorded.version
        self.at.append(recorded.at)
        if is_important(event):
            self.lights.append(Light(version, tone_of(event)))
        state = event.__dict__.get("state")
        if isinstance(state, str):
            self.steps.append(Step(version, state))
        self._tell(recorded)
        self._count(event, version)
        self.version = version

    def clock(self, version: int) -> int:
        """Milliseconds from the beginning of the session to that event."""
        return self.at[version - 1] - self.at[0]

    def gap(self, version: int) -> int:
        """Milliseconds from the previous event to that one."""
        return self.at[version - 1] - self.at[max(0, version - 2)]

    def _tell(self, recorded: Recorded) -> None:
        event, version = recorded.event, recorded.version
        match event:
            case discussion.RoundAdded():
                self.rounds.append(CountMark(version, event.round))
            case discussion.Synthesized():
                self.syntheses.append(CountMark(version, event.round))
            case discussion.DecisionRequested():
                self.asked.append(CountMark(version, event.round))
            case discussion.Ending() | discussion.DiscussionRetried():
                self.answered.append(CountMark(version, event.round))
            case orchestration.PlanMade():
                self.plans.append(CountMark(version, event.plan_version))
            case orchestration.WorkReported() if event.claimed or event.result == "error":
                self.claims.append(ClaimMark(version, event.index, event.round, event.claimed, event.result))
            case orchestration.VerdictGiven():
                self.verdicts.append(_verdict(event, recorded))
            case orchestration.VerdictOverturned():
                words = event.issues or event.feedback
                self.verdicts.append(
                    Verdict(version, event.index, event.round, (event.phase,), False, words, by="person")
                )
            case delivery.ReviewBlockingDetected():
                issues = tuple((issue.title, issue.detail) for issue in event.blocking_issues)
                self.outcomes.append(_outcome(event, version, remarks=None, issues=issues, fixes=event.fix_plan))
            case delivery.ReviewApproved():
                self.outcomes.append(_outcome(event, version, remarks=event.non_blocking, issues=(), fixes=()))
            case ChildRequested():
                self.opened.append(Opened(version, event.child_id, event.child_kind, event.about, event.topic.strategy))
            case SessionForked():
                self.forks.append(ForkMark(version, event.source, event.source_version))
            case ChildClosed():
                self.closed.append(Closed(version, event.child_id, event.choice, event.by, event.rounds))

    def _count(self, event: DomainEvent, version: int) -> None:
        """A point of the burn-down chart whenever the remaining budget has changed."""
        budget = self._budget
        usage = event.__dict__.get("usage")
        if usage is not None:
            budget["tokens"] = _sum(budget.get("tokens"), usage.tokens)
            budget["cost"] = _sum(budget.get("cost"), usage.cost_micros)
        match event:
            case delivery.DeliveryStarted() | delivery.BudgetExtended() | delivery.RevisionBegun():
                budget["total"] = event.limits.max_iterations
            case delivery.AttemptStarted():
                budget["begun"] = event.iteration
            case orchestration.OrchestrationStarted():
                budget["total"] = event.opening.max_rounds
                self._point(version, budget["total"])
            case orchestration.RoundsAdded() | orchestration.Continued() | orchestration.RunRevisionBegun():
                budget["total"] = event.last_round
                self._point(version, budget["total"] - event.round)
            case orchestration.RoundStart():
                self._point(version, budget["total"] - event.round)
        if isinstance(event, delivery.DeliveryEvent):
            self._point(version, budget["total"] - budget.get("begun", 0), event.elapsed_ms)

    def _point(self, version: int, left: int, ms: int | None = None) -> None:
        budget = self._budget
        spent = self.clock(version) if ms is None else ms
        point = Left(version, spent, max(0, left), budget["total"], budget.get("tokens"), budget.get("cost"))
        if not self.left or self.left[-1][2:] != point[2:]:
            self.left.append(point)


def _verdict(event: orchestration.VerdictGiven, recorded: Recorded) -> Verdict:
    """An unreadable judge gives no verdict (K-15)."""
    judge = "for_judge" if is_person(recorded.causation.actor) else "judge"
    phases, by = event.judged or (event.phase,), judge if event.judged else "nobody"
    return Verdict(recorded.version, event.index, event.round, phases, event.passed, event.feedback, by)


def _outcome(
    event: delivery.ReviewBlockingDetected | delivery.ReviewApproved,
    version: int,
    *,
    remarks: int | None,
    issues: tuple[tuple[str, str], ...],
    fixes: tuple[str, ...],
) -> ReviewMark:
    approved = isinstance(event, delivery.ReviewApproved)
    return ReviewMark(version, event.iteration, event.artifact_id, approved, event.score, remarks, issues, fixes)


def _sum(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more
