"""The rules for permissions: an agent asks, a person answers, and a question that nobody needs is withdrawn."""

from typing import TypeVar

from domain.session.decision import Events, Now, turn_identity
from domain.session.permissions import (
    DecidePermission,
    PermissionDecided,
    PermissionRequested,
    PermissionWithdrawn,
    RequestPermission,
    WithdrawPermissions,
    permission_id,
)
from domain.session.state import Session
from domain.values.base import Refused
from domain.values.sentences import Sentence

S = TypeVar("S", bound=Session)


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
    was_withdrawn = False
    for event in withdrawn(now, command.turn_id):
        yield event
        was_withdrawn = True
    if not was_withdrawn:
        raise Refused(Sentence("permission_not_waiting", request=command.turn_id), allowed=now.allowed())


def withdrawn(now: Now[S], turn_id: str) -> Events:
    """Withdraw what a turn has asked and nobody has answered."""
    for question in tuple(now.state.questions.values()):
        if question.turn_id == turn_id:
            yield PermissionWithdrawn(request_id=question.request_id, turn_id=turn_id)
