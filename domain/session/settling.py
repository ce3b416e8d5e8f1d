"""How turns end, and with them the conversations that agents keep: what is recorded of it."""

from typing import Any, TypeVar

from domain.session.draft import Draft
from domain.session.state import Outstanding, Session
from domain.session.turns import AgentSessionsCleared, RecordReply, Settled, TurnAnswered, TurnCancelled, TurnFailed
from domain.values.base import Command, Text

S = TypeVar("S", bound=Session)


def settle(draft: Draft[S], command: RecordReply) -> bool:
    """Record the end of the turn; whether it was answered."""
    turn = draft.session.turn(command.turn_id)
    draft.session.accept_tree(command)
    common: dict[str, Any] = {
        **turn.settled(),
        "attempt": command.attempt,
        "seconds": command.seconds,
        "usage": command.usage,
        "model": command.model,
        "prompt": command.prompt,
        "reply": command.reply,
    }
    if command.failure is not None:
        draft.record(TurnFailed(failure=command.failure, **common))
        return False
    draft.record(
        TurnAnswered(
            agent_session=command.agent_session,
            resumed=command.resumed,
            new_conversation=command.new_conversation,
            files=command.files,
            patch=command.patch,
            tree=command.tree,
            slot=command.slot,
            **common,
        )
    )
    return True


def content(command: Command, text: Text) -> str:
    """The whole of a text that came with a command."""
    if text.digest is None:
        return text.head
    return next(blob.content for blob in command.blobs if blob.digest == text.digest)


def cancel_turns(draft: Draft[S], reason: str) -> None:
    """Every turn that is still waited for is called off; whoever works on it is stopped, its answer refused."""
    for turn in tuple(draft.session.outstanding.values()):
        draft.record(cancelled(turn, reason))


def cancelled(turn: Outstanding, reason: str) -> Settled:
    return TurnCancelled(attempt=0, reason=reason, **turn.settled())


def clear_agents(draft: Draft[S], reason: str) -> None:
    """The decision to end the agents' conversations is an event, made in this one place (K-10)."""
    draft.record(AgentSessionsCleared(agent_sessions=draft.session.agent_sessions, reason=reason))
