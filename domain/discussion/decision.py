"""The decision: a person is asked and may answer once; or it expires, or is called off (S2, K-32, K-33)."""

from typing import Any

from domain.discussion import findings
from domain.discussion.commands import CancelDiscussion
from domain.discussion.events import Cancelled, Decided, DecisionRequested, Expired
from domain.discussion.parts import DiscussionDraft, allowed_actions, next_state, say
from domain.discussion.strategies import CHOICES, PASSING
from domain.session.actions import NO_DECISION, refusal
from domain.session.children import Decide
from domain.session.draft import cancel_turns, cancelled, clear_agents
from domain.session.turns import ExpireTurn, TurnRequested
from domain.values.base import Refused
from domain.values.time import iso, milliseconds


def ask(draft: DiscussionDraft) -> None:
    session = draft.session
    expires_at = None if session.expires_ms is None else iso(draft.at + session.expires_ms)
    say(
        draft,
        DecisionRequested,
        message="A person decides.",
        round=len(session.rounds),
        feedback=findings.feedback(session),
        choices=CHOICES[session.kind],
        dissent=findings.dissent(session),
        expires_at=expires_at,
    )
    if expires_at is not None:
        draft.record(
            TurnRequested(
                turn_id=f"{session.id}.t{session.turns + 1}",
                work="wait",
                agent="person",
                role="person",
                deadline=expires_at,
                round=len(session.rounds),
            )
        )


def record(draft: DiscussionDraft, command: Decide) -> None:
    """Once only, on the version that the person had seen, by one of the choices that are open."""
    session = draft.session
    choices = CHOICES[session.kind]
    state = next_state(draft, "decide", verdict=NO_DECISION)
    if command.version is not None and command.version != session.version:
        verdict = f"is at version {session.version}, and the decision answers version {command.version}"
        raise refusal(session, verdict, allowed_actions(session))
    if command.choice not in choices:
        raise refusal(session, f"is decided by one of {', '.join(choices)}", allowed_actions(session))
    cancel_turns(draft, "decided")
    say(
        draft,
        Decided,
        message=f"Decided: {command.choice}.",
        role="person",
        state=state,
        choice=command.choice,
        actor=command.actor,
        rationale=command.rationale,
        **_ending(draft),
    )
    clear_agents(draft, "decided")


def _ending(draft: DiscussionDraft) -> dict[str, Any]:
    """What every end says, for the parent above all."""
    session = draft.session
    return {
        "round": len(session.rounds),
        "feedback": session.feedback or findings.feedback(session),
        "synthesis": session.synthesis or draft.text(findings.joined(session)),
        "parent": session.about,
        "waited": 0 if session.waiting_since is None else draft.at - session.waiting_since,
        "spent": session.spent,
    }


def expire(draft: DiscussionDraft, command: ExpireTurn) -> None:
    """A decision that nobody made in time: recorded as expired, never as a person's choice."""
    session = draft.session
    turn = session.turn(command.turn_id)
    if turn.work != "wait" or session.expires_at is None or draft.at <= milliseconds(session.expires_at):
        raise Refused("The decision may still be made.", allowed=allowed_actions(session))
    choice = session.expires_as or PASSING[session.kind]
    draft.record(cancelled(turn, "expired"))
    say(
        draft,
        Expired,
        message=f"Nobody decided in time; {choice} by default.",
        state=next_state(draft, "decide", verdict=NO_DECISION),
        choice=choice,
        **_ending(draft),
    )
    clear_agents(draft, "expired")


def cancel(draft: DiscussionDraft, command: CancelDiscussion) -> None:
    state = next_state(draft, "cancel", verdict="cannot be cancelled")
    cancel_turns(draft, "cancelled")
    say(
        draft,
        Cancelled,
        message=command.reason or "Cancelled.",
        state=state,
        choice=PASSING[draft.session.kind],
        reason=command.reason,
        **_ending(draft),
    )
    clear_agents(draft, "cancelled")
