"""The readers of agents' replies, by the kind of answer that they read."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from domain.replies.artifact import review_artifact
from domain.replies.discussion import debate, debate_synthesis, review, review_synthesis
from domain.replies.judgement import verdicts
from domain.replies.orchestration import direct_answer, subtasks
from domain.replies.shapes import wire
from domain.replies.steps import checklist
from domain.values.base import Invalid
from domain.values.json import JSON
from domain.values.sentences import Sentence


def read(kind: str, text: str) -> JSON:
    """The contents of the reply in the contract's format. Raises `Unreadable`, and `Invalid` for an unknown kind."""
    reader = KINDS.get(kind)
    if reader is None:
        raise Invalid({"/kind": Sentence("not_one_of", choices=list(KINDS))})
    return reader(text)


def _checklist(text: str) -> JSON:
    return [wire(step) for step in checklist(text)]


KINDS: Mapping[str, Callable[[str], JSON]] = MappingProxyType(
    {
        "subtasks": lambda text: wire(subtasks(text)),
        "direct_answer": lambda text: wire(direct_answer(text)),
        "verdicts": lambda text: wire(verdicts(text)),
        "review": lambda text: wire(review(text)),
        "debate": lambda text: wire(debate(text)),
        "review_artifact": lambda text: wire(review_artifact(text)),
        "checklist": _checklist,
        "review_synthesis": lambda text: wire(review_synthesis(text)),
        "debate_synthesis": lambda text: wire(debate_synthesis(text)),
    }
)
"""The readers, by the kind of answer that they read."""
