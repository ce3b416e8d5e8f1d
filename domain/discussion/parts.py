"""What every step of a discussion shares: the draft, the chart's next state, and how a turn is requested."""

from typing import Any

from domain.discussion.chart import TABLES
from domain.discussion.events import VOICES, DiscussionEvent
from domain.discussion.state import Discussion
from domain.discussion.strategies import Part
from domain.session.actions import refusal
from domain.session.draft import Draft
from domain.session.turns import TurnRequested
from domain.values.base import Text

DiscussionDraft = Draft[Discussion]

REWRITTEN = {"challenge.perspectives": 2}
"""Prompts that are no longer in their first version."""


def allowed_actions(session: Discussion) -> tuple[str, ...]:
    """What a person may do now, by the names of the doors (contract §2)."""
    allowed = TABLES[session.kind].allowed(session.state, session.guard)
    doors = {"decide": "decision", "cancel": "cancel"}
    return tuple(door for event, door in doors.items() if event in allowed)


def next_state(draft: DiscussionDraft, event: str, *, verdict: str = "does not allow this") -> str:
    """The state that the event leads to; Refused, with `verdict`, where it leads nowhere."""
    session = draft.session
    target = TABLES[session.kind].target(session.state, event, session.guard)
    if target is None:
        raise refusal(session, verdict, allowed_actions(session), after=_outcome(session))
    return target


def _outcome(session: Discussion) -> str:
    decision = session.decision
    if decision is None or session.state == "cancelled":
        return ""
    return f"It has {'expired' if decision.expired else 'been decided'}: {decision.choice}."


def _version(session: Discussion, prompt: str) -> int:
    """Of which version the prompt is, by the rules of this session."""
    return 1 if session.policy == "discussion@1" else REWRITTEN.get(prompt, 1)


def terse_speaks(session: Discussion) -> bool:
    """Whether who says no more than "ok" has said something, by the rules of this session."""
    return session.policy not in ("discussion@1", "discussion@2")


def say(draft: DiscussionDraft, event: type[DiscussionEvent], **fields: Any) -> None:
    draft.record(VOICES[draft.session.kind][event](**fields))


def request(draft: DiscussionDraft, part: Part, context: dict[str, Text], number: int, *, reads: str) -> None:
    session = draft.session
    agent = session.crew.get(part.asked, part.asked)
    draft.record(
        TurnRequested(
            turn_id=f"{session.id}.t{session.turns + 1}",
            work="ask",
            agent=agent,
            role=part.asked,
            prompt=f"{part.prompt}@{_version(session, part.prompt)}",
            reads=reads,
            context=context,
            lane=session.lane,
            access="read",
            ordinal=session.asked.get(agent, 0),
            role_ordinal=session.asked_roles.get(part.asked, 0),
            agent_session=session.thread(agent, part.asked),
            phase=part.role,
            round=number,
        )
    )
