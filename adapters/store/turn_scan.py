"""The open turns, read page by page."""

from collections.abc import Iterator
from typing import Final

from adapters.store.turns import FIRST, OpenTurn, Turns

LIMIT: Final = 500
"""Rows of one read. While no more turns are open, every look sees all of them, the oldest first."""


class TurnScan:
    """Shows every open turn to one reader in the end; belongs to one thread at a time.

    A skipped turn is not for this reader, so the next look begins after it and soon reaches the end, where
    new turns appear. But such a turn may become claimable later (its lease runs out, its holder gives it back), and an
    import may add one with an early date. So each look also reads one step of the part already seen, round and round.
    """

    def __init__(self, turns: Turns, *, limit: int = LIMIT) -> None:
        self._turns, self._limit = turns, limit
        self._reached = self._again = FIRST
        self.ended = self.complete = False
        """Whether the last look, if it was followed to its end, reached the newest turn, and whether it saw all."""

    def look(self, now: int) -> Iterator[OpenTurn]:
        """Open turns to take or pass over, the oldest first. Reads at most twice `limit` rows."""
        yield from self._seen(now)
        yield from self._ahead(now)

    def restart(self) -> None:
        """Begin the next look at the oldest turn."""
        self._reached = self._again = FIRST

    def _seen(self, now: int) -> Iterator[OpenTurn]:
        from_the_oldest = self._again == FIRST
        page = self._turns.open(now, after=self._again, upto=self._reached, limit=self._limit)
        for turn in page.turns:
            self._again = turn.place
            yield turn
        self._again = page.end or FIRST
        self.complete = from_the_oldest and page.end is None

    def _ahead(self, now: int) -> Iterator[OpenTurn]:
        page = self._turns.open(now, after=self._reached, limit=self._limit)
        for turn in page.turns:
            self._reached = turn.place
            yield turn
        self._reached = page.end or self._reached
        self.ended = page.end is None
        self.complete = self.complete and self.ended
