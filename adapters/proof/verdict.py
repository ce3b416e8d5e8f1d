"""The result of a verification."""

from dataclasses import dataclass, field
from hashlib import sha256
from operator import itemgetter
from typing import Final, NamedTuple

from adapters.store.rows import Row
from adapters.store.seal import beginning, quotes
from domain.values.base import HansardError
from domain.values.sentences import Sentence

MOST: Final = 100
"""Faults that are reported; the rest of a log that has more is not read."""


class Unchecked(HansardError):
    """Something outside the log could not be checked; that says nothing about the log."""


@dataclass(frozen=True, slots=True)
class LogFault:
    """A fault, and its place: a position of the log, or None for the file as a whole."""

    position: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class NamedRedaction:
    """A text that was removed from the log, and the event that says so."""

    digest: str
    session_id: str
    position: int
    actor: str
    reason: str
    newer: bool = False
    """True if it was recorded after the checkpoint that the log was compared with."""


@dataclass(frozen=True, slots=True)
class UnprovableEvent:
    """An event whose hash does not fit and which has a blanked quote of a redacted text: whether more of it was changed
    cannot be proved."""

    session_id: str
    version: int
    position: int
    digest: str


class _Beginning(NamedTuple):
    """The beginning of a text as an event quotes it, by its hash, and where."""

    hash: bytes
    row: tuple[str, int, int]


class QuotedTexts:
    """The parts of long texts that events quote. No hash covers them in the second form, so each quote must be the
    beginning of the text with its digest, or be blank because of a redaction."""

    def __init__(self) -> None:
        self._beginnings: dict[str, _Beginning] = {}
        self._blank: dict[str, tuple[str, int, int]] = {}
        self._wrong: list[tuple[str, int, int]] = []

    def follow(self, row: Row) -> None:
        """Note what one more event quotes."""
        place = (row.stream, row.version, row.position)
        for quote in quotes(row.state):
            if quote.blank:
                self._blank.setdefault(quote.digest, place)
            elif quote.head is not None:
                beginning = _Beginning(sha256(quote.head.encode()).digest(), place)
                if self._beginnings.setdefault(quote.digest, beginning).hash != beginning.hash:
                    self._wrong.append(place)

    def blame_blanks(self, verdict: "Verification") -> None:
        """Name the events with a blank that no redaction explains, and those that quote one text differently."""
        redacted = {text.digest for text in verdict.redacted}
        blank = [place for digest, place in self._blank.items() if digest not in redacted]
        for stream, version, position in sorted({*blank, *self._wrong}, key=itemgetter(2)):
            verdict.blame(position, Sentence("fault_quote_changed", id=stream, number=version))

    def compare(self, digest: str, content: str | None, verdict: "Verification") -> None:
        """Compare the quotes of a text with its content; None if it was redacted, and then they have to be blank."""
        quote = self._beginnings.pop(digest, None)
        if quote is None:
            return
        stream, version, position = quote.row
        if content is None or sha256(beginning(content).encode()).digest() != quote.hash:
            verdict.blame(position, Sentence("fault_quote_changed", id=stream, number=version))


@dataclass(slots=True)
class Verification:
    """The findings of a verification; `root` is the tree head over all events (hex), `unchecked` why the views were
    not."""

    events: int = 0
    sessions: int = 0
    head: int = 0
    root: str = ""
    unchecked: str | None = None
    redacted: list[NamedRedaction] = field(default_factory=list)
    unprovable: list[UnprovableEvent] = field(default_factory=list)
    faults: list[LogFault] = field(default_factory=list)
    quoted: QuotedTexts = field(default_factory=QuotedTexts, repr=False, compare=False)
    """The quotes of the events, until their texts are read."""

    @property
    def sound(self) -> bool:
        return not self.faults

    @property
    def full(self) -> bool:
        """True if no more faults are reported."""
        return len(self.faults) >= MOST

    @property
    def first_bad(self) -> int | None:
        """The first position with a fault; None if none is known."""
        return min((fault.position for fault in self.faults if fault.position is not None), default=None)

    def blame(self, position: int | None, problem: str) -> None:
        if not self.full:
            self.faults.append(LogFault(position, problem))
