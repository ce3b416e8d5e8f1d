"""Export and import: sessions as JSON Lines, readable by any program, rejected unless complete and unchanged.

A header, the long texts by digest, the events in the order of the log, and a manifest that counts and hashes all lines
before it. Positions belong to the log and are not exported: exporting again after an import gives the same bytes. A
line is only accepted if it is exactly what `export` would have written.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

import orjson

from adapters.proof.checkpoints import SignedHead
from adapters.proof.mentions import mentioned
from adapters.proof.merkle import Tree
from adapters.proof.redactions import ChangedEvents
from adapters.store.errors import Conflict, DamagedEvent, StoreError
from adapters.store.mapper import decode
from adapters.store.port import Log, Store
from adapters.store.rows import Row
from adapters.store.seal import FORM, beginning, quotes
from domain.kinds import KINDS, fold
from domain.session.record import kind_of
from domain.session.redaction import REDACTED, TextRedacted
from domain.session.state import Session
from domain.session.turns import Settled, TurnRequested
from domain.values.base import HansardError
from domain.values.json import Malformed
from domain.values.json import decode as decode_json
from domain.values.sentences import Param, Sentence, sentence_of

FORMAT = 1
HEADER = {"hansard": "export", "format": FORMAT}
_ID = re.compile(r"[a-z]+-[0-9A-Za-z_-]{1,200}")
"""Folders and links are named after sessions, so ids must not lead elsewhere."""


class NotImported(HansardError):
    """The fault of the file, and in which line it is; nothing was imported."""


class AlreadyThere(NotImported):
    """The file may be whole, but the log has some of its sessions."""


def export(store: Log, session_id: str | None = None) -> Iterator[bytes]:
    """The lines of an export, each with its line break: the whole log, or a session with those that it started.

    Raises StoreError if the log is damaged.
    """
    last = store.head()  # other processes may be writing
    streams = None if session_id is None else _family(store, session_id)
    summing = _Summing()
    yield summing.line(HEADER)
    for digest in sorted({digest for row in _rows(store, streams, last) for digest in mentioned(row.state)}):
        content = store.text(digest)
        if content is None:
            raise StoreError(Sentence("mentioned_text_missing", digest=digest))
        yield summing.text(digest, content)
    for row in _rows(store, streams, last):
        yield summing.event(row)
    yield summing.manifest()


def _rows(store: Log, streams: list[str] | None, last: int) -> Iterator[Row]:
    return takewhile(lambda row: row.position <= last, store.rows.events(streams))


def _family(store: Log, session_id: str) -> list[str]:
    """A session, its reviews and debates, and theirs in turn."""
    names, waiting = [], [session_id]
    while waiting:
        name = waiting.pop()
        names.append(name)
        moments = ((recorded.event, recorded.metadata) for recorded in store.history(name))
        session = fold(kind_of(name), moments)
        waiting += [child for child in (session.children if session else ()) if child not in names]
    return names


class _Summing:
    """The lines of a file, and what its manifest says about them."""

    def __init__(self) -> None:
        self._texts, self._events, self._sessions = 0, 0, dict[str, None]()
        self._hashed, self._tree = hashlib.sha256(), Tree()

    def line(self, value: dict[str, Any]) -> bytes:
        encoded = orjson.dumps(value) + b"\n"
        self._hashed.update(encoded)
        return encoded

    def text(self, digest: str, content: str) -> bytes:
        self._texts += 1
        return self.line({"text": digest, "content": content})

    def event(self, row: Row) -> bytes:
        self._events += 1
        self._sessions[row.stream] = None
        self._tree.add(row.hash)
        try:
            state = row.state.decode()
        except UnicodeDecodeError as error:
            raise StoreError(Sentence("event_not_utf8", position=row.position, detail=error)) from None
        event: dict[str, Any] = {"session": row.stream, "version": row.version, "type": row.topic}
        if row.form > 1:
            event["form"] = row.form
        return self.line(event | {"state": state, "hash": row.hash.hex()})

    def manifest(self) -> bytes:
        manifest = {
            "texts": self._texts,
            "events": self._events,
            "sessions": len(self._sessions),
            "root": base64.b64encode(self._tree.root()).decode(),
            "sha256": self._hashed.hexdigest(),
        }
        return orjson.dumps({"manifest": manifest}) + b"\n"


class _Import:
    """The checks of an import, line by line."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.texts: dict[str, str] = {}
        self.unprovable: list[int] = []
        """The lines of changed events that a redaction excuses."""
        self._sessions: dict[str, Session | None] = {}
        self._heads: dict[str, tuple[int, bytes, int]] = {}
        self._newest_text = ""
        self._blank: set[str] = set()
        self._redacted: set[str] = set()
        self._changed = ChangedEvents(lambda digests: self.texts.keys() & digests)
        self._summing = _Summing()
        self._ended = False

    def read(self, number: int, raw: bytes) -> None:
        if self._ended:
            raise NotImported(_line(number, "import_after_manifest"))
        line = self._object(number, raw)
        if number == 1:
            if raw.endswith(b"\r\n"):
                raise NotImported(_line(1, "import_line_breaks"))
            if raw != self._summing.line(HEADER):
                raise NotImported(_line(1, "import_not_an_export", format=FORMAT))
            return
        match line:
            case {"manifest": dict()}:
                self._finish(number, raw)
                return
            case {"text": str() as digest, "content": str() as content}:
                again = self._text(number, digest, content)
            case {"session": str(), "version": int(), "type": str(), "state": str(), "hash": str()}:
                again = self._event(number, line)
            case _:
                raise NotImported(_line(number, "import_not_a_line", format=FORMAT))
        if raw != again:
            raise NotImported(_line(number, "import_written_differently"))

    @staticmethod
    def _object(number: int, raw: bytes) -> dict[str, Any]:
        try:
            value = decode_json(raw)
        except Malformed as error:
            raise NotImported(Sentence("import_line", number=number, sentence=error.placed)) from None
        if not isinstance(value, dict):
            raise NotImported(_line(number, "import_not_an_object"))
        return value

    def _text(self, number: int, digest: str, content: str) -> bytes:
        if self.rows or digest <= self._newest_text:
            raise NotImported(_line(number, "import_text_order"))
        if content == REDACTED:
            self._blank.add(digest)
        elif hashlib.sha256(content.encode()).hexdigest() != digest:
            raise NotImported(_line(number, "import_text_changed"))
        self.texts[digest], self._newest_text = content, digest
        return self._summing.text(digest, content)

    def _event(self, number: int, line: dict[str, Any]) -> bytes:
        stream, version = line["session"], line["version"]
        if _ID.fullmatch(stream) is None:
            raise NotImported(_line(number, "import_session_id", id=stream[:80]))
        before, previous, newest_form = self._heads.get(stream, (0, b"", 1))
        if version != before + 1 or isinstance(version, bool):
            raise NotImported(_line(number, "import_version_gap", version=version, id=stream, last=before))
        form = line.get("form", 1)
        if not isinstance(form, int) or isinstance(form, bool) or not 1 <= form <= FORM:
            raise NotImported(_line(number, "import_not_a_line", format=FORMAT))
        digest = bytes.fromhex(_hex(number, line))
        row = Row(number, stream, version, line["type"], line["state"].encode(), digest, form)
        if form == FORM:
            self._compare_quotes(row)
        if row.chained(previous) != row.hash:
            self._changed.add(row, form=newest_form)
        self._fold(number, row)
        self._heads[stream] = (version, row.hash, max(form, newest_form))
        self.rows.append(row)
        return self._summing.event(row)

    def _compare_quotes(self, row: Row) -> None:
        """Raise NotImported where an event quotes a text differently. No hash covers a quote, so that must be the
        beginning of its text, or be blank."""
        for quote in quotes(row.state):
            content = self.texts.get(quote.digest)
            if quote.blank:
                self._blank.add(quote.digest)
            elif quote.head is not None and content not in (None, REDACTED) and quote.head != beginning(content or ""):
                raise NotImported(_line(row.position, "import_event_changed"))

    def _fold(self, number: int, row: Row) -> None:
        """Only events that can be read and make up a session are accepted."""
        try:
            recorded = decode(row.stored(), number)
            before = self._sessions.get(row.stream)
            self._sessions[row.stream] = fold(kind_of(row.stream), [(recorded.event, recorded.metadata)], before)
        except Exception as error:  # whatever the rules raise for a file, it is a fault of the file and not of ours
            why = error.why if isinstance(error, DamagedEvent) else error
            raise NotImported(_line(number, "import_event_unreadable", name=row.topic[:80], detail=why)) from None
        if isinstance(recorded.event, TextRedacted):
            self._redacted.add(recorded.event.digest)
            self.unprovable += self._changed.drop(row.stream, recorded.event)
        turn = recorded.event.turn_id if isinstance(recorded.event, TurnRequested | Settled) else None
        if turn is not None and not turn.startswith(f"{row.stream}."):
            raise NotImported(_line(number, "import_turn_elsewhere", name=turn[:80], id=row.stream))

    def _finish(self, number: int, raw: bytes) -> None:
        """The file must end as its lines say, and contain exactly the texts that its events refer to."""
        if (changed := self._changed.first()) is not None:
            raise NotImported(_line(changed, "import_event_changed"))
        if blank := self._blank - self._redacted:
            raise NotImported(Sentence("import_text_blank", digest=min(blank)))
        wanted = {digest for row in self.rows for digest in mentioned(row.state)}
        if wanted != self.texts.keys():
            raise NotImported(_line(number, "import_other_texts"))
        if raw != self._summing.manifest():
            raise NotImported(_line(number, "import_manifest_differs"))
        self._ended = True

    def finish(self) -> None:
        if not self._ended:
            raise NotImported(Sentence("import_cut_off"))


def _line(number: int, code: str, /, **params: Param) -> Sentence:
    return Sentence("import_line", number=number, sentence=Sentence(code, **params))


def _hex(number: int, line: dict[str, Any]) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", line["hash"]):
        raise NotImported(_line(number, "import_hash"))
    return str(line["hash"])


def _check(imports: _Import, checkpoint: SignedHead) -> None:
    """Raise NotImported if the file does not begin with what was signed."""
    signed = imports.rows[: checkpoint.size]
    tree = Tree()
    tree.extend([row.hash for row in signed])
    if len(signed) < checkpoint.size or tree.root() != checkpoint.root:
        raise NotImported(Sentence("import_not_signed", number=checkpoint.size))
    if changed := {row.position for row in signed} & set(imports.unprovable):
        raise NotImported(_line(min(changed), "import_event_changed"))


def take_in(store: Store, lines: Iterable[bytes], checkpoint: SignedHead | None = None) -> tuple[int, int]:
    """Import a file, which must begin with what the checkpoint covers. Returns how many sessions and events it
    contained. Raises NotImported, and then nothing has changed."""
    imports = _Import()
    for number, raw in enumerate(lines, start=1):
        imports.read(number, raw)
    imports.finish()
    if checkpoint is not None:
        _check(imports, checkpoint)
    existing = {row.stream for row in imports.rows if row.version == 1 and store.version(row.stream)}
    if existing:
        names = sorted(filter(_is_session, existing))[:5] or [Sentence("messages_of_a_conversation")]
        raise AlreadyThere(Sentence("import_already_there", names=names))
    try:
        store.import_rows(imports.rows, imports.texts.items())
    except Conflict as error:
        raise NotImported(sentence_of(error)) from None
    return len({row.stream for row in imports.rows if _is_session(row.stream)}), len(imports.rows)


def _is_session(stream: str) -> bool:
    """Channels are exported, too; people do not know their ids."""
    return kind_of(stream) in KINDS
