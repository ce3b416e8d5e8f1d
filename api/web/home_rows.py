"""Rows of home: sessions that run or have ended, with what they cost and how they ended."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

from api.web.model import REASON, Paused, badge, clock, money, owner, paused
from api.web.plain_text import cut, cut_plain, short_command
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.sessions import SessionItem

COMMAND: Final = 40
"""Characters of a command that are shown."""
RUNNING: Final = ("running", "active", "reviewing", "debating", "synthesizing")
"""Statuses in which an agent is at work (contract §2)."""


class EndFacts(NamedTuple):
    """The facts that an outcome is worded from."""

    why: str
    by: str
    choice: str | None
    checks: str
    branch: str


class ListedRow(NamedTuple):
    """A session in a list, with what it cost, how long it took and how it ended."""

    of: SessionItem
    cost: str
    lasted: str
    paused: Paused | None
    badge: str
    ended: EndFacts | None
    labels: Sequence[str]
    by: str
    folder: str


def listed_rows(db: Database, rows: Sequence[SessionItem]) -> tuple[ListedRow, ...]:
    """Sessions as rows of a list."""
    facts = overview.facts(db, [row.id for row in rows])
    return tuple(_item(row, facts.get(row.id)) for row in rows)


def _item(item: SessionItem, facts: overview.Facts | None) -> ListedRow:
    return ListedRow(
        of=item,
        cost=money(facts.cost_micros) if facts else "",
        lasted=clock(facts.lasted_ms) if facts and item.outcome else "",
        paused=paused(item.outstanding_turns),
        badge=badge(item),
        ended=_ended(item),
        labels=[cut(label, 64) for label in item.labels[:5]],
        by=owner(item.owner),
        folder=cut(PurePath(item.repository or "").name, 24),
    )


def _ended(item: SessionItem) -> EndFacts | None:
    it = item.outcome
    if it is None:
        return None
    return EndFacts(
        why=cut_plain(it.words_sentence or it.words or "", REASON),
        by=owner(it.by or ""),
        choice=it.choice,
        checks=", ".join(cut(short_command(command), COMMAND) for command in it.checks),
        branch=cut(it.branch or "", 120),
    )
