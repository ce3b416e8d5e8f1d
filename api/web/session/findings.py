"""Lists what reviewers, judges and people have found: what blocks first, or by file, or by round, and what a further
round would be good for."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from api.web.plain_text import cut
from api.web.session.context import PanelContext, whole
from api.web.session.finding_rows import (
    BY_PEOPLE,
    REPORTS,
    FindingRow,
    ListPlace,
    answers_of,
    place_of,
    reason_of,
    rows_of,
)
from projections.record.findings import findings_view
from projections.record.turns import TurnEntry
from projections.views.findings import FindingsView

FRONT: Final = 9
"""Open findings in front; the others are folded, none is cut."""
_LOOKS: Final = 12
"""The newest looks that are drawn."""
ORDERS: Final = ("open", "file", "round")
"""The orders of the list; as it is without a wish comes first."""


class LookShown(NamedTuple):
    version: int
    round: int
    blocking: int
    remarks: int
    by: str


class FindingsShown(NamedTuple):
    """`front` are the open findings that are not folded, `rest` those that are; `groups` have all, where an order was
    wished for. `looks` are the newest times that somebody looked."""

    rows: Sequence[FindingRow]
    orders: Sequence[str]
    by: str
    groups: Sequence[tuple[str, Sequence[FindingRow]]]
    may: bool
    front: Sequence[FindingRow]
    rest: Sequence[FindingRow]
    closed: Sequence[FindingRow]
    counts: Sequence[tuple[str, int]]
    looks: Sequence[LookShown]
    of: ListPlace
    approved: bool
    score: int | None
    recommendation: str
    because: Sequence[object]
    quiet: int
    policy: str


def findings(context: PanelContext) -> FindingsShown:
    made = findings_of(context)
    rows = rows_of(context, made.items)
    by = context.by or ORDERS[0]
    front = [row for row in rows if row.open and row.weight != "soft"][:FRONT]
    rest = [row for row in rows if row.open and row not in front]
    return FindingsShown(
        rows=rows,
        orders=ORDERS if len(rows) > 1 else (),
        by=by,
        groups=_grouped(made, rows, by),
        may="comments" in context.may and context.session.takes_comments,
        front=front,
        rest=rest,
        closed=[row for row in rows if not row.open],
        counts=_counts(made),
        looks=[
            LookShown(look.version, look.round, look.blocking, look.remarks, cut(look.by, 60))
            for look in made.rounds[-_LOOKS:]
        ],
        of=place_of(context, by),
        approved=bool(made.rounds) and made.rounds[-1].blocking == 0,
        score=_score(context),
        recommendation=made.recommendation if made.rounds else "",
        because=[reason_of(each) for each in made.because],
        quiet=made.quiet,
        policy=made.policy,
    )


def findings_of(context: PanelContext) -> FindingsView:
    events = context.finding_events.of(context.session.id, context.version)
    return findings_view(context.session, events, partial(whole, context, most=10_000_000))


def reported_by(context: PanelContext, entry: TurnEntry) -> list[FindingRow] | None:
    """The findings that the reply of a turn reported: those of the looks right after it. None if it judged nothing."""
    ended = [attempt.version for attempt in entry.attempts if attempt.version <= context.version]
    if not ended or entry.work != "ask":
        return None
    later = [version for version, _ in answers_of(context) if version > ended[-1]]
    span = range(ended[-1] + 1, min(later, default=context.version + 1))
    made = findings_of(context)
    if not any(look.version in span for look in made.rounds):
        return None
    reports = [item for item in made.items if item.kind != BY_PEOPLE]
    return rows_of(
        context,
        [item for item in reports if any(each.act in REPORTS and each.version in span for each in item.life)],
    )


def _grouped(made: FindingsView, rows: Sequence[FindingRow], by: str) -> list[tuple[str, list[FindingRow]]]:
    """The rows by file, those of the whole last, or by the round in which they were raised; open ones first. Nothing
    where neither is asked for."""
    if by == ORDERS[0]:
        return []
    looks = [(look.version, look.round) for look in made.rounds]
    groups: dict[tuple[int, str], list[FindingRow]] = {}
    for row in sorted(rows, key=lambda row: not row.open):
        number = 0 if by == "file" else _raised_in(row, looks)
        groups.setdefault((number, row.path if by == "file" else str(number or "")), []).append(row)
    order = sorted(groups, key=lambda key: (not key[1], key))
    return [(key[1], groups[key]) for key in order]


def _raised_in(row: FindingRow, looks: Sequence[tuple[int, int]]) -> int:
    """The round of the look that raised it; of a person's comment that of the last look before it."""
    if not row.life:
        return 0
    first = row.life[0]
    return first.round or max((number for version, number in looks if version < first.version), default=0)


def _score(context: PanelContext) -> int | None:
    outcomes = context.past(context.trail.outcomes)
    return outcomes[-1].score if outcomes else None


def _counts(made: FindingsView) -> list[tuple[str, int]]:
    shown = [item for item in made.items if item.state is not None]
    numbers = {
        "open": sum(item.open and item.state != "claimed" for item in shown),
        "claimed": sum(item.state == "claimed" for item in shown),
        "fixed": sum(item.state == "fixed" for item in shown),
        "remark": sum(item.kind == "remark" for item in shown),
    }
    return [(name, number) for name, number in numbers.items() if number]
