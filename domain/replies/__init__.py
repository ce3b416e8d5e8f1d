"""Agents' replies, parsed strictly: each kind of answer as a value, or `Unreadable` with a sentence (contract §5,
K-49)."""

from domain.replies.artifact import ReviewArtifact, ReviewIssue, review_artifact
from domain.replies.comments import AnsweredComment, comment_answers
from domain.replies.delivery import FileChange, PlanParts, changes, plan_parts
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
from domain.replies.judgement import JudgeVerdict, Verdicts, phases_completed, verdicts
from domain.replies.kinds import KINDS, read
from domain.replies.orchestration import DirectAnswer, Plan, PlannedSubtask, direct_answer, subtasks
from domain.replies.steps import ChecklistStep, checklist

__all__ = [
    "KINDS",
    "AnsweredComment",
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
    "comment_answers",
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
