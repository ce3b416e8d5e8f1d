"""Agents' replies, parsed strictly: each kind of answer as a value, or `Unreadable` with a sentence (contract §5,
K-49)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from domain.replies.delivery import (
    ChecklistStep,
    FileChange,
    PlanParts,
    ReviewArtifact,
    ReviewIssue,
    changes,
    checklist,
    plan_parts,
    review_artifact,
)
from domain.replies.discussion import (
    DebateFeedback,
    DebateSynthesis,
    Disagreement,
    FoundIssue,
    ReviewFeedback,
    ReviewSynthesis,
    Risk,
    debate,
    debate_synthesis,
    review,
    review_synthesis,
)
from domain.replies.extraction import parted, spoken, without_json, without_thinking
from domain.replies.orchestration import (
    DirectAnswer,
    JudgeVerdict,
    Plan,
    PlannedSubtask,
    Verdicts,
    direct_answer,
    phases_completed,
    subtasks,
    verdicts,
)
from domain.replies.shapes import wire
from domain.values.base import Invalid
from domain.values.json import JSON
from domain.values.sentences import Sentence

__all__ = [
    "KINDS",
    "ChecklistStep",
    "DebateFeedback",
    "DebateSynthesis",
    "DirectAnswer",
    "Disagreement",
    "FileChange",
    "FoundIssue",
    "JudgeVerdict",
    "Plan",
    "PlanParts",
    "PlannedSubtask",
    "ReviewArtifact",
    "ReviewFeedback",
    "ReviewIssue",
    "ReviewSynthesis",
    "Risk",
    "Verdicts",
    "changes",
    "checklist",
    "debate",
    "debate_synthesis",
    "direct_answer",
    "parted",
    "phases_completed",
    "plan_parts",
    "read",
    "review",
    "review_artifact",
    "review_synthesis",
    "spoken",
    "subtasks",
    "verdicts",
    "without_json",
    "without_thinking",
]


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
