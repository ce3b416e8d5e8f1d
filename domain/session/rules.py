"""The entry to the rules, and those that are the same for every kind: permissions, landings and the workspace."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from domain.session.approvals import (
    DecidePermission,
    PermissionDecided,
    PermissionRequested,
    PermissionWithdrawn,
    RequestPermission,
    WithdrawPermissions,
    permission_id,
)
from domain.session.decision import Events, Kind, Now, Outcome, ask, settle, turn_identity
from domain.session.forking import diverge, fork, release
from domain.session.history import Diverge, ForkSession, RedactText, Release, redact_text
from domain.session.landing import LandingRequested, LandSession, RecordLanding, WorkLanded, WorkSentBack
from domain.session.state import EventMetadata, Session
from domain.session.turns import (
    ActivityRecorded,
    ActivitySummary,
    RecordReply,
    RecordTurn,
    Settled,
    TurnAnswered,
    TurnAttemptFailed,
    TurnCancelled,
    TurnFailed,
    activity_of,
    recorded_as,
)
from domain.session.workspace import WorkspacePrepared
from domain.values.base import Blob, Command, DomainEvent, Refused, Usage, Value
from domain.values.sentences import Sentence

S = TypeVar("S", bound=Session)
ROLE = "integrator"


class WorkSoFar(Value):
    """What a running attempt has done so far."""

    attempt: int
    seconds: float = 0.0
    usage: Usage = Usage()
    activity: ActivitySummary | None = None
    blobs: tuple[Blob, ...] = ()


SoFar = Callable[[str], WorkSoFar | None]
"""Finds it for a turn."""


def nothing(_: str) -> None:
    """For when no work is known."""


def carry_out(
    kind: Kind[S], session: S | None, command: Command, metadata: EventMetadata, so_far: SoFar = nothing
) -> Outcome:
    """Decide a command on a session of this kind (None if it does not exist yet), and fold each event as it comes.
    Raises Refused; changes nothing.

    `so_far` knows what running attempts have done.
    """
    now = Now(kind, session, metadata)
    now.check(command)
    ends, events = AttemptEnds(so_far), list[DomainEvent]()
    for event in ends.added(now, _decide(now, command)):
        now.state = session = kind.evolve(session, event, metadata)
        events.append(event)
    return Outcome(tuple(events), (*command.blobs, *now.blobs, *ends.blobs), now.state)


def _decide(now: Now[S], command: Command) -> Events:
    """What the command leads to: by the rules for forks, permissions or landings if it is about those, otherwise by the
    kind's."""
    match command:
        case ForkSession():
            return _forked(now, command)
        case Diverge():
            return diverge(now, command)
        case Release():
            return release(now, command)
        case RedactText():
            return redact_text(command)
        case RequestPermission():
            return request_permission(now, command)
        case DecidePermission():
            return decide_permission(now, command)
        case WithdrawPermissions():
            return withdraw_permissions(now, command)
        case LandSession():
            return request_landing(now, command)
        case RecordLanding():
            return record_landing(now, command)
        case RecordReply() if command.activity is not None:
            return _with_activity(now, command, command.activity)
        case _:
            return with_workspace(now, command, now.kind.decide(now, command))


def _with_activity(now: Now[S], command: RecordReply, activity: ActivitySummary) -> Events:
    yield recorded_as(activity, turn_id=command.turn_id, attempt=command.attempt)
    yield from with_workspace(now, command, now.kind.decide(now, command))


def _forked(now: Now[S], command: ForkSession) -> Events:
    yield fork(now, command)
    if command.then is not None:
        yield from with_workspace(now, command.then, now.kind.decide(now, command.then))


def with_workspace(now: Now[S], command: Command, rules: Events) -> Events:
    """The events of a command. If its turn made the workspace, that is recorded right after the end of the turn."""
    prepared = command.prepared if isinstance(command, RecordTurn) else None
    return rules if prepared is None or now.state.base is not None else _with_base(rules, prepared)


def _with_base(rules: Events, prepared: WorkspacePrepared) -> Events:
    yield next(rules)
    yield prepared
    yield from rules


# -- permissions -------------------------------------------------------------------------------------------------------


def request_permission(now: Now[S], command: RequestPermission) -> Events:
    """An agent asks before it uses a tool. Raises Refused once its turn is settled (contract-2 §11)."""
    turn = now.turn(command.turn_id)
    yield PermissionRequested(
        request_id=permission_id(turn.turn_id, now.state.version + 1),
        attempt=command.attempt,
        tool=command.tool,
        title=command.title,
        paths=command.paths,
        **turn_identity(turn),
    )


def decide_permission(now: Now[S], command: DecidePermission) -> Events:
    """A remembered answer also answers other waiting requests with the same question."""
    request = now.state.questions.get(command.request_id)
    if request is None:
        raise Refused(Sentence("permission_not_waiting", request=command.request_id), allowed=now.allowed())
    if now.state.decisions is not None:
        now.state.decisions.check_listed(command.by)
    same = [each for each in now.state.questions.values() if command.remember and each.subject == request.subject]
    for question in same or [request]:
        yield PermissionDecided(
            request_id=question.request_id,
            turn_id=question.turn_id,
            decision=command.decision,
            by=command.by,
            remember=command.remember,
        )


def withdraw_permissions(now: Now[S], command: WithdrawPermissions) -> Events:
    """The program that asked has ended. Raises Refused if nothing waits."""
    withdrawn = False
    for event in _withdrawn(now, command.turn_id):
        yield event
        withdrawn = True
    if not withdrawn:
        raise Refused(Sentence("permission_not_waiting", request=command.turn_id), allowed=now.allowed())


def _withdrawn(now: Now[S], turn_id: str) -> Events:
    for question in tuple(now.state.questions.values()):
        if question.turn_id == turn_id:
            yield PermissionWithdrawn(request_id=question.request_id, turn_id=turn_id)


# -- landing -----------------------------------------------------------------------------------------------------------


def request_landing(now: Now[S], command: LandSession) -> Events:
    """Only a published branch can land, and no agent may be working on it."""
    state = now.state
    if state.published is None or state.branch is None or state.unpublished:
        raise now.refusal(command.REFUSAL)
    if state.outstanding:
        raise now.refusal("is_at_work")
    yield LandingRequested(onto=command.onto, commit=state.published, steps=command.steps, by=command.actor)
    yield ask(now, role=ROLE, work="land")


def record_landing(now: Now[S], command: RecordLanding) -> Events:
    """The branch was merged, or the work is sent back with the reason."""
    event = settle(now, command)
    yield event
    landing = now.state.landing
    if not isinstance(event, TurnAnswered) or landing is None:
        return
    if command.commit is not None:
        yield WorkLanded(
            onto=landing.onto,
            before=command.before,
            commit=command.commit,
            clean_room=command.clean_room,
            flaky=command.flaky,
        )
        return
    yield WorkSentBack(
        onto=landing.onto,
        before=command.before,
        reason=command.reason,
        author=command.author,
        paths=command.paths,
        reasons=command.reasons,
        detail=command.detail,
        flaky=command.flaky,
    )


def landing_command(events: Sequence[DomainEvent], session: Session | None) -> Command | None:
    """The command that led to these events, if it is about a landing."""
    first = events[0]
    if isinstance(first, LandingRequested):
        return LandSession(onto=first.onto, steps=first.steps, actor=first.by)
    if not isinstance(first, TurnAnswered | TurnFailed | TurnAttemptFailed) or session is None:
        return None
    if session.turn(first.turn_id).work != "land":
        return None
    command = RecordLanding(turn_id=first.turn_id, attempt=first.attempt, seconds=first.seconds)
    command = command.model_copy(update={"fence": first.fence, "fence_gaps": first.fence_gaps})
    if not isinstance(first, TurnAnswered):
        return command.model_copy(update={"failure": first.failure})
    outcome = next((event for event in events if isinstance(event, WorkLanded | WorkSentBack)), None)
    fields = (
        {}
        if outcome is None
        else {name: getattr(outcome, name) for name in type(outcome).model_fields.keys() - {"onto"}}
    )
    return command.model_copy(update={"slot": first.slot, **fields})


# -- what attempts had done when something else ended them: a person, or the deadline ----------------------------------


class AttemptEnds:
    """Adds to a decision what belongs to the ends of attempts: before it, what the attempt had done if something else
    ends it; after it, that its requests are withdrawn. `blobs` are the long texts of that."""

    def __init__(self, so_far: SoFar) -> None:
        self._so_far = so_far
        self.blobs: list[Blob] = []

    def added(self, now: Now[S], rules: Events) -> Events:
        for event in rules:
            match event:
                case Settled() | TurnAttemptFailed():
                    yield from self._with_work(event) if isinstance(event, TurnCancelled) else (event,)
                    yield from _withdrawn(now, event.turn_id)
                case _:
                    yield event

    def _with_work(self, event: TurnCancelled) -> Events:
        work = self._so_far(event.turn_id)
        if work is None:
            yield event
            return
        if work.activity is not None:
            self.blobs.extend(work.blobs)
            yield recorded_as(work.activity, turn_id=event.turn_id, attempt=work.attempt)
        yield event.model_copy(update={"attempt": work.attempt, "seconds": work.seconds, "usage": work.usage})


def work_in(events: Iterable[DomainEvent]) -> SoFar:
    """The work that a recorded decision ended, needed to decide it again."""
    work: dict[str, WorkSoFar] = {}
    did: dict[str, ActivitySummary] = {}
    for event in events:
        match event:
            case ActivityRecorded():
                did[event.turn_id] = activity_of(event)
            case TurnCancelled() if event.attempt:
                figures = {"attempt": event.attempt, "seconds": event.seconds, "usage": event.usage}
                work[event.turn_id] = WorkSoFar(activity=did.get(event.turn_id), **figures)
    return work.get
