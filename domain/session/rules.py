"""The entry to the rules: those of a session's kind, and those that are the same for every kind."""

from typing import TypeVar

from domain.session.activity import ActivitySummary, recorded_as
from domain.session.attempt_ends import AttemptEnds, SoFar, nothing
from domain.session.comment_rules import add_comment, change_comment
from domain.session.comments import AddComment, ChangeComment
from domain.session.decision import Events, Kind, Now, Outcome
from domain.session.forge import CommitsTaken, ForgeCommand
from domain.session.forge_rules import decide_forge
from domain.session.fork_rules import asked_instead, diverge, fork, release
from domain.session.forks import Diverge, ForkSession, Release
from domain.session.landing import LandSession, RecordLanding
from domain.session.landing_rules import record_landing, request_landing
from domain.session.permission_rules import decide_permission, request_permission, withdraw_permissions
from domain.session.permissions import (
    DecidePermission,
    RequestPermission,
    WithdrawPermissions,
)
from domain.session.redaction import RedactText, redact_text
from domain.session.state import EventMetadata, Session
from domain.session.turns import (
    RecordReply,
    RecordTurn,
    TurnAnswered,
)
from domain.session.workspace import PeopleCommits, WorkspacePrepared
from domain.values.base import Command, DomainEvent

S = TypeVar("S", bound=Session)


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
    """Returns what the command leads to: by the rules for forks, comments, permissions, pull requests or landings if it
    is about those, otherwise by the kind's."""
    match command:
        case ForkSession():
            return _forked(now, command)
        case Diverge():
            return diverge(now, command)
        case Release():
            return release(now, command)
        case RedactText():
            return redact_text(command)
        case AddComment():
            return add_comment(now, command)
        case ChangeComment():
            return change_comment(now, command)
        case RequestPermission():
            return request_permission(now, command)
        case DecidePermission():
            return decide_permission(now, command)
        case WithdrawPermissions():
            return withdraw_permissions(now, command)
        case ForgeCommand():
            return decide_forge(now, command)
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
    yield from asked_instead(now, command)


def with_workspace(now: Now[S], command: Command, rules: Events) -> Events:
    """The events of a command. If its turn made the workspace, or took over what people have committed, that is
    recorded right after the end of the turn."""
    if not isinstance(command, RecordTurn):
        return rules
    if command.people is not None:
        rules = _with_people(now, command, rules, command.people)
    return rules if command.prepared is None or now.state.base is not None else _with_base(rules, command.prepared)


def _with_people(now: Now[S], command: RecordTurn, rules: Events, people: PeopleCommits) -> Events:
    """Only what a turn has ended with counts, and each commit once: agents that work at once find the same."""
    first = next(rules)
    yield first
    if isinstance(first, TurnAnswered) and not set(people.commits) <= set(now.state.people_commits):
        changes = people.changes if first.tree is None else first.changes
        head = first.tree or people.tree
        fields = {"commits": people.commits, "by": people.by, "validated": people.validated}
        yield CommitsTaken(head=head, changes=changes, **fields)
    yield from rules


def _with_base(rules: Events, prepared: WorkspacePrepared) -> Events:
    yield next(rules)
    yield prepared
    yield from rules
