"""The end of a discussion: people decide, by votes if the team wants several; or it expires, or is cancelled (S2, K-32,
K-33).
"""

from typing import Any

from domain.discussion import findings
from domain.discussion.commands import CancelDiscussion
from domain.discussion.events import Cancelled, Decided, DecisionVoted, DiscussionEvent, Expired
from domain.discussion.state import Discussion
from domain.discussion.strategies import CHOICES, PASSING, REJECTING
from domain.discussion.topics import EVENTS_OF
from domain.session.children import Decide
from domain.session.decision import Events, Now, cancel_turn, cancel_turns, clear_agents
from domain.session.team_decisions import DecisionComment, DecisionPolicy, missing
from domain.session.turns import ExpireTurn
from domain.values.base import Refused, milliseconds
from domain.values.sentences import Sentence

Talk = Now[Discussion]


def voice(now: Talk, event: type[DiscussionEvent]) -> type[DiscussionEvent]:
    """The event under the topic of this kind."""
    return EVENTS_OF[now.kind.name][event]


def record_decision(now: Talk, command: Decide) -> Events:
    """Only once, on the version that the person saw, and with one of the offered choices."""
    state = now.state
    choices = CHOICES[state.kind]
    now.next("decide", refusal=Decide.REFUSAL, after=_outcome(state))
    if command.version is not None and command.version != state.version:
        raise now.refusal("decision_outdated", number=state.version, given=command.version)
    if command.choice not in choices:
        raise now.refusal("unknown_choice", choices=list(choices))
    policy = state.decisions
    if policy is not None or command.seen is not None:
        policy = policy or DecisionPolicy()
        yield vote(now, command, policy)
        if missing(policy, choices, now.state.votes)[command.choice]:
            return
    yield from cancel_turns(now, "decided")
    yield now.move(
        "decide",
        voice(now, Decided),
        message=f"Decided: {command.choice}.",
        role="person",
        choice=command.choice,
        actor=command.actor,
        rationale=command.rationale,
        comments=_comments(now, command),
        **_ending(now),
    )
    yield clear_agents(now, "decided")


def _comments(now: Talk, command: Decide) -> tuple[DecisionComment, ...]:
    """Returns what was remarked with this decision: where people vote, with every vote for it."""
    votes = [each for each in now.state.votes if each.choice == command.choice]
    return tuple(comment for each in votes for comment in each.comments) if votes else command.comments


def vote(now: Talk, command: Decide, policy: DecisionPolicy) -> DecisionVoted:
    """Each person has one vote, on what is shown now, and may change it until the decision is made."""
    state = now.state
    policy.check(command.actor)
    if command.seen is None and policy.approvers > 1:
        raise now.refusal("decision_without_seen")
    if command.seen not in (None, state.seen):
        raise now.refusal("decision_of_other_content")
    if any(before[:2] == (command.actor, command.choice) for before in state.votes):
        raise now.refusal("already_voted", choice=command.choice)
    left = missing(policy, (command.choice,), (each for each in state.votes if each.actor != command.actor))
    return DecisionVoted(
        message=f"Voted: {command.choice} ({policy.approvers - left[command.choice] + 1} of {policy.approvers}).",
        role="person",
        round=len(state.rounds),
        choice=command.choice,
        actor=command.actor,
        seen=command.seen,
        rationale=command.rationale,
        comments=command.comments,
    )


def expire(now: Talk, command: ExpireTurn) -> Events:
    """A decision that was not made in time is recorded as expired, never as a person's choice."""
    turn, state = now.turn(command.turn_id), now.state
    if turn.work != "wait" or state.expires_at is None or now.at <= milliseconds(state.expires_at):
        raise Refused(Sentence("decision_not_expired"), allowed=now.allowed())
    choice = expires_to(state)
    yield cancel_turn(turn, "expired")
    sentence = f"Nobody decided in time; {choice} by default."
    yield now.move("decide", voice(now, Expired), message=sentence, choice=choice, **_ending(now))
    yield clear_agents(now, "expired")


def expires_to(state: Discussion) -> str:
    """Returns the choice that counts if nobody decides in time."""
    return _default(state) if _guarded(state) else state.expires_as or PASSING[state.kind]


def cancel(now: Talk, command: CancelDiscussion) -> Events:
    """End without a decision; the default counts for the session that asked (K-33)."""
    now.next("cancel", refusal=command.REFUSAL, after=_outcome(now.state))
    yield from cancel_turns(now, "cancelled")
    yield now.move(
        "cancel",
        voice(now, Cancelled),
        message=command.reason or "Cancelled.",
        choice=_default(now.state),
        reason=command.reason,
        **_ending(now),
    )
    yield clear_agents(now, "cancelled")


def _guarded(state: Discussion) -> bool:
    return state.decisions is not None and state.decisions.guarded


def _default(state: Discussion) -> str:
    """The choice that applies if no one decided. Work that needs the team's approval never passes without it."""
    return (REJECTING if _guarded(state) else PASSING)[state.kind]


def _ending(now: Talk) -> dict[str, Any]:
    """Returns what every end reports, especially to the parent."""
    state = now.state
    return {
        "round": len(state.rounds),
        "feedback": state.feedback or findings.feedback(state),
        "synthesis": state.synthesis or now.text(findings.joined(state)),
        "parent": state.about,
        "waited": 0 if state.waiting_since is None else now.at - state.waiting_since,
        "spent": state.spent,
        "scripted": state.scripted or None,
    }


def _outcome(state: Discussion) -> Sentence | None:
    decision = state.decision
    if decision is None or state.state == "cancelled":
        return None
    return Sentence("has_expired" if decision.expired else "was_decided", choice=decision.choice)
