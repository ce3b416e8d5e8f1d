"""Whole texts: short ones are in their events, long ones are stored by digest, derived ones follow from the history."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from threading import Lock
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import orjson

from adapters.store.port import Broken, Texts
from domain.discussion.events import DiscussionStarted, RoundAdded
from domain.discussion.findings import BLANK_LINE
from domain.discussion.state import contribution
from domain.session.history import REDACTED
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered, TurnAttemptFailed, TurnFailed, TurnRequested
from domain.values.base import INLINE_BYTES, Derived, HansardError, Text
from domain.values.sentences import Sentence
from domain.values.words import Language, filled

KEPT: Final = 64
"""For how many discussions the joined rounds are kept, ..."""
KEPT_CHARACTERS: Final = 4_000_000
"""... with at most this many characters each."""


class TextSource(Texts, Protocol):
    """What the texts of a log follow from."""

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


def _joined_of(log: TextSource) -> JoinedRounds:
    return _JOINED.setdefault(log, JoinedRounds())


# For readers of single events: derived texts with their beginning, as if they were stored.


def spelled_out(log: TextSource, recorded: Recorded) -> Recorded:
    """The event with the beginning of each derived text, unless it cannot be read any more."""
    with suppress(HansardError):
        return _spelled_out(log, recorded)
    return recorded


def _spelled_out(log: TextSource, recorded: Recorded) -> Recorded:
    match recorded.event:
        case TurnRequested() as event if any(text.derived for text in event.context.values()):
            context = {place: _begun(log, text) for place, text in event.context.items()}
            return recorded._replace(event=event.model_copy(update={"context": context}))
        case (TurnAnswered() | TurnFailed() | TurnAttemptFailed()) as event if event.prompt.derived:
            return recorded._replace(event=event.model_copy(update={"prompt": _begun(log, event.prompt)}))
        case _:
            return recorded


def _begun(log: TextSource, text: Text) -> Text:
    if text.derived is None:
        return text
    head = whole(log, text)[:INLINE_BYTES].encode()[:INLINE_BYTES].decode(errors="ignore")
    return text.changed(head=head)


# -- events without a text that was taken out of the log ---------------------------------------------------------------


def blanked(state: bytes, digest: str) -> bytes:
    """The state of an event without the text, whether it quotes the beginning or has the whole text as a value; the
    same bytes if it does neither."""
    event = orjson.loads(state)
    return orjson.dumps(event) if _blank(event, digest) else state


def _blank(value: Any, digest: str) -> bool:
    """Whether something was blanked, in place."""
    if not isinstance(value, dict | list):
        return False
    if isinstance(value, dict) and value.get("digest") == digest and value.get("head", REDACTED) != REDACTED:
        value["head"] = REDACTED
        return True
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    whole = [place for place, part in parts if isinstance(part, str) and _is_text(part, digest)]
    for place in whole:
        value[place] = REDACTED
    return sum(_blank(part, digest) for _, part in parts) > 0 or bool(whole)


def _is_text(words: str, digest: str) -> bool:
    """Whether it is the text of this digest: requests are recorded in full, however long they are."""
    return len(words) > INLINE_BYTES // 4 and sha256(words.encode()).hexdigest() == digest
