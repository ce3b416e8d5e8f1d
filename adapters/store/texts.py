"""Whole texts: short ones are in their events, long ones are stored by digest, derived ones follow from the history."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from adapters.store.errors import Broken
from adapters.store.port import Texts
from domain.discussion.events import DiscussionStarted, RoundAdded
from domain.discussion.findings import BLANK_LINE
from domain.discussion.state import contribution
from domain.session.record import Recorded
from domain.session.turns import TurnRequested
from domain.values.base import Derived, Text
from domain.values.sentences import Sentence
from domain.values.words import Language, filled

KEPT: Final = 64
"""For how many discussions the joined rounds are kept, ..."""
KEPT_CHARACTERS: Final = 4_000_000
"""... with at most this many characters each."""


class TextSource(Texts, Protocol):
    """The log from which texts follow."""

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> Sequence[Recorded]:
        """The events of a session with versions `after`+1 … `upto`."""


def whole(log: TextSource, text: Text) -> str:
    """All of a text. Raises Broken if it is missing; the beginning in the event never replaces the whole."""
    if text.derived is not None:
        return _derived(log, text.derived)
    return text.head if text.digest is None else _stored(log, text.digest)


def _stored(log: TextSource, digest: str) -> str:
    words = log.text(digest)
    if words is None:
        raise Broken(Sentence("text_missing", digest=digest))
    return words


def _derived(log: TextSource, derived: Derived) -> str:
    match derived.what:
        case "subject":
            return whole(log, _subject(log, derived.session_id))
        case "rounds":
            return _joined_of(log).rounds(log, derived)
        case "prompt":
            return _prompt(log, derived)


def _subject(log: TextSource, session_id: str) -> Text:
    for recorded in log.history(session_id, upto=1):
        if isinstance(recorded.event, DiscussionStarted):
            return recorded.event.topic.subject
    raise Broken(Sentence("subject_missing", id=session_id))


def _prompt(log: TextSource, derived: Derived) -> str:
    for recorded in log.history(derived.session_id, after=derived.version - 1, upto=derived.version):
        if isinstance(recorded.event, TurnRequested) and derived.template is not None:
            values = {place: whole(log, text) for place, text in recorded.event.context.items()}
            language: Language = "ko" if derived.language == "ko" else "en"
            return filled(_stored(log, derived.template), values, language)
    raise Broken(Sentence("request_missing", id=derived.session_id, version=derived.version))


class _Joined:
    """The rounds of one discussion, joined up to a version: each longer text continues the one before."""

    def __init__(self) -> None:
        self.version = 0
        self.text = ""
        self.versions: list[int] = []
        """The versions of the contributions, and where each ends in the text."""
        self.ends: list[int] = []
        self.kept = True

    def extend(self, history: Sequence[Recorded], between: str) -> None:
        more: list[str] = []
        end = len(self.text)
        for recorded in history:
            self.version = recorded.version
            if not isinstance(recorded.event, RoundAdded):
                continue
            entry = contribution(recorded.event)
            piece = (between if self.versions else "") + entry.line
            more.append(piece)
            end += len(piece)
            self.versions.append(recorded.version)
            self.ends.append(end)
            self.kept = self.kept and entry.content.digest is None  # what can be redacted is not kept
        self.text += "".join(more)

    def upto(self, version: int) -> str:
        count = bisect_right(self.versions, version)
        return self.text[: self.ends[count - 1]] if count else ""


class JoinedRounds:
    """The joined rounds of the latest discussions of a log, because each prompt continues the one before."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], _Joined] = OrderedDict()
        self._lock = Lock()

    def forget(self, session_id: str | None) -> None:
        """Drop what is joined of a discussion from which a text was taken out, or of all (None)."""
        with self._lock:
            for key in [key for key in self._known if session_id in (None, key[0])]:
                del self._known[key]

    def rounds(self, log: TextSource, derived: Derived) -> str:
        between = derived.between or BLANK_LINE
        key = (derived.session_id, between)
        with self._lock:
            joined = self._known.pop(key, None) or _Joined()
        if joined.version < derived.version:
            joined.extend(log.history(derived.session_id, after=joined.version, upto=derived.version), between)
        words = joined.upto(derived.version)
        if joined.kept and len(joined.text) <= KEPT_CHARACTERS:
            with self._lock:
                self._known[key] = joined
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)
        return words


_JOINED: WeakKeyDictionary[TextSource, JoinedRounds] = WeakKeyDictionary()


def forget_rounds(log: TextSource, session_id: str | None) -> None:
    """Drop what is joined of a discussion of this log."""
    _joined_of(log).forget(session_id)


def _joined_of(log: TextSource) -> JoinedRounds:
    return _JOINED.setdefault(log, JoinedRounds())
