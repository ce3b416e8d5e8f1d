"""Export and import: sessions as JSON Lines, readable by anybody, refused unless whole and unchanged.

A header, the long texts, the events in the order of the log, and a manifest that counts and hashes all lines before
it. Positions are the log's own and stay behind: what is exported again after an import is the same to the byte.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from adapters.audit.merkle import Tree
from adapters.store import Conflict, SqliteStore
from adapters.store.entries import decode
from adapters.store.rows import Row
from domain.base import HansardError
from domain.strict import Malformed
from domain.strict import decode as decode_json

FORMAT = 1
_DIGEST = re.compile(rb'"digest":"([0-9a-f]{64})"')


class NotImported(HansardError):
    """What is wrong with the file, and in which line; nothing was imported."""


def export(store: SqliteStore, session_id: str | None = None) -> Iterator[bytes]:
    """The lines of an export, each with its line break."""
    hashed = hashlib.sha256()
    counts = {"texts": 0, "events": 0}
    tree, sessions = Tree(), dict[str, None]()

    def line(value: dict[str, Any]) -> bytes:
        encoded = orjson.dumps(value) + b"\n"
        hashed.update(encoded)
        return encoded

    yield line({"hansard": "export", "format": FORMAT})
    for digest in sorted(_mentioned(store, session_id)):
        content = store.text(digest)
        if content is not None:
            counts["texts"] += 1
            yield line({"text": digest, "content": content})
    for row in store.rows.events(session_id):
        counts["events"] += 1
        sessions[row.stream] = None
        tree.add(row.hash)
        yield line(_event(row))
    manifest = {**counts, "sessions": len(sessions), "root": _text(tree.root()), "sha256": hashed.hexdigest()}
    yield orjson.dumps({"manifest": manifest}) + b"\n"


def _mentioned(store: SqliteStore, session_id: str | None) -> set[str]:
    """The long texts that the events mention."""
    return {found.decode() for row in store.rows.events(session_id) for found in _DIGEST.findall(row.state)}


def _event(row: Row) -> dict[str, Any]:
    return {
        "session": row.stream,
        "version": row.version,
        "type": row.topic,
        "state": row.state.decode(),
        "hash": row.hash.hex(),
    }


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class _Import:
    """The checks of an import, line by line."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.texts: dict[str, str] = {}
        self._heads: dict[str, tuple[int, bytes]] = {}
        self._hashed = hashlib.sha256()
        self._tree = Tree()
        self._manifest: dict[str, Any] | None = None

    def read(self, number: int, raw: bytes) -> None:
        if self._manifest is not None:
            raise NotImported(f"Line {number}: nothing may follow the manifest.")
        line = self._object(number, raw)
        match line:
            case {"manifest": dict() as manifest}:
                self._manifest = manifest
                return
            case {"hansard": "export", "format": 1} if number == 1:
                pass
            case {"text": str() as digest, "content": str() as content} if number > 1:
                self._text(number, digest, content)
            case {"session": str(), "version": int(), "type": str(), "state": str(), "hash": str()} if number > 1:
                self._event(number, line)
            case _:
                raise NotImported(f"Line {number}: this is no line of an export of format {FORMAT}.")
        self._hashed.update(raw)

    @staticmethod
    def _object(number: int, raw: bytes) -> dict[str, Any]:
        try:
            found = decode_json(raw)
        except Malformed as error:
            raise NotImported(f"Line {number}: {error}") from None
        if not isinstance(found, dict):
            raise NotImported(f"Line {number}: should be an object.")
        return found

    def _text(self, number: int, digest: str, content: str) -> None:
        if hashlib.sha256(content.encode()).hexdigest() != digest:
            raise NotImported(f"Line {number}: the text is not the one that its digest names.")
        self.texts[digest] = content

    def _event(self, number: int, line: dict[str, Any]) -> None:
        stream, version = line["session"], line["version"]
        before, previous = self._heads.get(stream, (0, b""))
        if version != before + 1:
            raise NotImported(f"Line {number}: version {version} of {stream} follows {before}.")
        row = Row(number, stream, version, line["type"], line["state"].encode(), bytes.fromhex(_hex(number, line)))
        if row.chained(previous) != row.hash:
            raise NotImported(f"Line {number}: the event has been changed; its hash does not fit.")
        try:
            decode(row.stored(), number)
        except (HansardError, ValueError, KeyError, TypeError) as error:
            raise NotImported(f"Line {number}: {line['type']!r} cannot be read: {error}") from None
        self._heads[stream] = (version, row.hash)
        self._tree.add(row.hash)
        self.rows.append(row)

    def finish(self) -> None:
        """The file has to end as its manifest says."""
        if self._manifest is None:
            raise NotImported("The file is cut off: there is no manifest at its end.")
        found = {
            "texts": len(self.texts),
            "events": len(self.rows),
            "sessions": len(self._heads),
            "root": _text(self._tree.root()),
            "sha256": self._hashed.hexdigest(),
        }
        wrong = [name for name, value in found.items() if self._manifest.get(name) != value]
        if wrong:
            raise NotImported(f"The manifest does not fit the file: {', '.join(wrong)}.")


def _hex(number: int, line: dict[str, Any]) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", line["hash"]):
        raise NotImported(f"Line {number}: a hash has 64 hexadecimal digits.")
    return str(line["hash"])


def take_in(store: SqliteStore, lines: Iterable[bytes]) -> tuple[int, int]:
    """Import a file; how many sessions and events it brought. Raises NotImported, and then nothing has changed."""
    found = _Import()
    for number, raw in enumerate(lines, start=1):
        found.read(number, raw)
    found.finish()
    known = {row.stream for row in found.rows if row.version == 1 and store.version(row.stream)}
    if known:
        raise NotImported(f"The log holds {', '.join(sorted(known)[:5])} already.")
    try:
        store.rows.take_in(found.rows, found.texts.items())
    except Conflict as error:
        raise NotImported(str(error)) from None
    return len({row.stream for row in found.rows}), len(found.rows)
