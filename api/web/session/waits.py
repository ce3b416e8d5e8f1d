"""Tells what a turn that is not over waits for, when people were asked during it, and how the judge found its work."""

from collections import defaultdict
from typing import Final, NamedTuple

from api.node.checkouts import free_branch
from api.web.session.context import PanelContext
from domain.delivery.state import Delivery
from domain.values.base import iso
from projections.record.turns import TurnEntry

PERMISSION: Final = "permission"
_ASKED: Final = "turn.permission_requested"
_OVER: Final = frozenset({"turn.permission_decided", "turn.permission_withdrawn"})

Span = tuple[int, int]
"""From when to when, in milliseconds."""


class TurnWait(NamedTuple):
    """The reason for which a turn waits: a permission, or the code of the last failure. `until` is when its next
    attempt begins, "" if that depends on a person. `counts`: whether the time is part of the budget; None without such
    a budget. `checked_out_in`: the folder in which a person has the branch checked out that it waits for."""

    cause: str
    until: str
    counts: bool | None
    checked_out_in: str = ""

    @property
    def first(self) -> str:
        """The command with which a person checks out another branch than the one that is waited for."""
        return free_branch(self.checked_out_in)


def wait_of(context: PanelContext, turn_id: str) -> TurnWait | None:
    """None for a turn that is over or at work."""
    session = context.session
    turn = session.outstanding.get(turn_id)
    if turn is None:
        return None
    is_timed = isinstance(session, Delivery)
    if any(question.turn_id == turn_id for question in session.questions.values()):
        return TurnWait(PERMISSION, "", False if is_timed else None)
    if turn.tries.until is None:
        return None
    counts = turn.provider_wait is None if is_timed else None
    return TurnWait(turn.tries.reason or "", iso(turn.tries.until), counts, turn.tries.checked_out_in or "")


def verdict_on(context: PanelContext, entry: TurnEntry) -> bool | None:
    """Tells whether the work of a turn passed in its round; None if it was not judged."""
    verdicts = [
        verdict.passed
        for verdict in context.past(context.trail.verdicts)
        if (verdict.place + 1, verdict.round) == (entry.lane, entry.number) and verdict.by != "nobody"
    ]
    return all(verdicts) if verdicts else None


def question_spans(context: PanelContext, end: int) -> dict[str, list[Span]]:
    """While which a turn waited for permission, by its id. An open question lasts until `end`."""
    spans: dict[str, list[Span]] = defaultdict(list)
    since: dict[str, list[int]] = defaultdict(list)
    for entry in context.record.entries[: context.version]:
        if not entry.turn_id:
            continue
        open_ = since[entry.turn_id]
        if entry.topic == _ASKED:
            open_.append(entry.at)
        elif entry.topic in _OVER and open_:
            began = open_.pop()
            if not open_:  # it asked several at once: until the last is answered
                spans[entry.turn_id].append((began, entry.at))
    for turn_id, open_ in since.items():
        if open_:
            spans[turn_id].append((open_[0], end))
    return spans
