"""What a person sees when a discussion waits for a decision, as one digest: it changes with the diff or the
findings."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from domain.discussion.events import (
    AgentFailed,
    DecisionRequested,
    DiscussionRetried,
    DiscussionStarted,
    RoundAdded,
    Synthesized,
)
from domain.session.children import Choice
from domain.values.base import DomainEvent, Text

_ENCODE: Final = json.JSONEncoder(sort_keys=True).encode


def seen_after(seen: str, event: DomainEvent) -> str:
    """The digest after one more event. It is chained, so it covers everything shown so far."""
    shown = _shown(event)
    if shown is None:
        return seen
    return hashlib.sha256((seen + _ENCODE(shown)).encode()).hexdigest()


def _shown(event: DomainEvent) -> list[Any] | None:
    match event:
        case DiscussionStarted(topic=topic):
            return ["subject", _text(topic.subject), topic.tree]
        case RoundAdded():
            return ["round", event.role, event.agent, _text(event.content), event.feedback, event.problem]
        case AgentFailed():
            return ["failed", event.error]
        case DiscussionRetried():
            return ["retried", event.round]
        case Synthesized():
            return ["synthesis", _text(event.synthesis), event.counts]
        case DecisionRequested():
            return ["asked", event.feedback, event.choices, event.dissent]
        case _:
            return None


def _text(text: Text) -> list[Any]:
    return [text.length, text.digest or text.head]


# What the last judgement of a discussion suggests to the person who decides, to show who was overruled (K-32).

_SUGGESTS: Mapping[str, Choice] = {
    "NEEDS_FIX": "apply_fix",
    "PASS": "skip",
    "CHALLENGE": "revise",
    "APPROVE": "accept",
}


def suggested(feedback: Mapping[str, Any] | None) -> Choice | None:
    """The choice that this feedback suggests; None if it is unreadable or the discussion was interrupted."""
    if feedback is None or feedback.get("problem") or feedback.get("error"):
        return None
    return _SUGGESTS.get(str(feedback.get("verdict")))
