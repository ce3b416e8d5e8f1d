"""A walk along the open turns, for those who may take only some of them: however many wait, a look reads a few."""

from collections.abc import Iterator
from typing import Final

from adapters.store.sqlite.turns import FIRST, OpenTurn, Turns

LIMIT: Final = 500
"""So many rows are read at once. While no more turns are open, every look sees all of them, the oldest first."""


class Walk:
    """Shows each open turn to one who asks, in the end; belongs to one thread at a time.

    What was passed over is not for whoever walks here: the next look begins behind it, and is soon at the end, where
    new turns appear. But a turn that was passed over, or was in other hands, may become open to us (its lease runs out,
    its holder gives it back), and one may come late with an early date (it is imported, a clock was set back). So each
    look also goes a step over the way that lies behind, round and round: none starves behind turns of others.
    """

    def __init__(self, turns: Turns, *, limit: int = LIMIT) -> None:
        self._turns, self._limit = turns, limit
        self._reached = self._again = FIRST
        self.ended = False
        """Whether the last look, if it was followed to its end, has come to the newest turn."""

    def look(self, now: int) -> Iterator[OpenTurn]:
        """Open turns to be taken or passed over, the oldest first. Reads at most twice `limit` rows."""
        yield from self._behind(now)
        yield from self._ahead(now)

    def restart(self) -> None:
        """Let the next look begin at the oldest turn: some that were in other hands are known to wait again."""
        self._reached = self._again = FIRST

    def _behind(self, now: int) -> Iterator[OpenTurn]:
        page = self._turns.open(now, after=self._again, upto=self._reached, limit=self._limit)
        for turn in page.turns:
            self._again = turn.place
            yield turn
        self._again = page.end or FIRST

    def _ahead(self, now: int) -> Iterator[OpenTurn]:
        page = self._turns.open(now, after=self._reached, limit=self._limit)
        for turn in page.turns:
            self._reached = turn.place
            yield turn
        self._reached = page.end or self._reached
        self.ended = page.end is None
