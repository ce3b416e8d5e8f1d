"""How a session ended, as its row says it: what was checked, the branch, who decided what, and why."""

import json
from typing import Final

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.history import SessionForked
from domain.session.record import Recorded
from domain.session.workspace import ResultPublished
from projections.record.markdown import shortened
from projections.sessions.row import SessionRow

CHECKS: Final = 3
"""How many validation commands are kept."""
ABOUT: Final = (
    delivery.DeliveryStarted,
    ResultPublished,
    delivery.BranchPublished,
    SessionForked,
    delivery.SessionFinished,
    orchestration.WasReset,
    orchestration.Completed,
    discussion.Ending,
)
"""Other events change nothing here."""
WORDS: Final = 300
"""How many characters of a reason, an answer or a command are kept; the session has all of it."""


def follow(row: SessionRow, recorded: Recorded) -> None:
    """One more event of the row's session."""
    match recorded.event:
        case delivery.DeliveryStarted(steps=steps):
            row.checks = json.dumps([shortened(step.command, WORDS) for step in steps[:CHECKS]], ensure_ascii=False)
        case ResultPublished(branch=branch) | delivery.BranchPublished(branch=branch):
            row.branch = branch
        case SessionForked(source_version=version):
            row.forked_at = version
        case delivery.SessionFinished(state="cancelled") as event:
            _end(row, recorded.causation.actor, event.cancelled_because)
        case orchestration.WasReset(reason=reason):
            _end(row, recorded.causation.actor, reason)
        case orchestration.Completed(summary=summary):
            _end(row, None, summary.head)
        case discussion.Decided() as event:
            _end(row, event.actor, event.rationale, event.choice)
        case discussion.Cancelled() as event:
            _end(row, recorded.causation.actor, event.reason)
        case discussion.Expired() as event:
            _end(row, None, "", event.choice)


def _end(row: SessionRow, actor: str | None, words: str, choice: str | None = None) -> None:
    row.ended_by, row.ended_words, row.choice = actor, shortened(words, WORDS) or None, choice
