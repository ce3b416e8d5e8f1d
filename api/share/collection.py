"""Reads a session from the log for a shared file: what may be shown, within its size, with proof."""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, Final, NamedTuple

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from adapters.proof.checkpoints import head, public_text, sign
from adapters.proof.merkle import leaf, node
from adapters.references import Secrets
from adapters.store.port import Log
from adapters.store.rows import Row
from api.share.secret_search import SecretSearch
from api.share.shared_record import (
    ON_REQUEST,
    Blanks,
    LeftOut,
    QuotedText,
    RunProof,
    SharedEvent,
    SharedRecord,
    Withheld,
    halves,
    sealed_words,
    strings_in,
    texts_of,
)
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from domain.values.words import Language

CUT: Final = 250
"""Characters from which a text in an event may be left out for its size. Its first ones stay, for the list."""
_KEPT: Final = 100


class SharingRules(NamedTuple):
    """The rules for what may be in the file: the known secrets may not, and what is only there on request."""

    secrets: Secrets
    wishes: Collection[str] = ()
    language: Language = "en"


class _Sieve(NamedTuple):
    """Takes out of events: secrets, what nobody asked for, and texts with these digests for their size."""

    search: SecretSearch
    wishes: Collection[str]
    long: Collection[str]

    def is_unasked(self, name: str) -> bool:
        return ON_REQUEST[name] not in self.wishes


class SharedSession:
    """Reads everything that a file may show of a session up to a version, and makes records of it."""

    def __init__(
        self, log: Log, session_id: str, version: int | None, key: Ed25519PrivateKey, rules: SharingRules
    ) -> None:
        """Raises Unknown, and NotProved for a log that was changed."""
        checkpoint = head(log)
        leaves: list[bytes] = []
        self._places: dict[int, int] = {}
        self._rows: list[Row] = []
        for row in log.rows.events():
            if len(leaves) == checkpoint.size:
                break
            if row.stream == session_id and (version is None or row.version <= version):
                self._places[row.version] = len(leaves)
                self._rows.append(row)
            leaves.append(leaf(row.hash))
        if not self._rows or (version is not None and self._rows[-1].version != version):
            raise Unknown(Sentence("version_not_found", number=version or 1, id=session_id))
        self._session, self._rules = session_id, rules
        self._signed, self._key = sign(checkpoint, key), public_text(key)
        self._tree = _Ranges(leaves)
        self._search = SecretSearch(rules.secrets)
        self._texts, self._withheld = _texts(log, self._rows, rules.wishes, self._search)
        self._sizes = _sizes(self._rows, self._texts)

    @property
    def count(self) -> int:
        """Returns the number of its events."""
        return len(self._rows)

    @property
    def size(self) -> int:
        """The bytes of all texts that may be left out for their size."""
        return sum(self._sizes.values())

    def record(self, room: int) -> SharedRecord:
        """The record, with the shortest of its long texts that have so many bytes together."""
        order = sorted(self._sizes, key=lambda digest: (self._sizes[digest], digest))
        ends = accumulate(self._sizes[digest] for digest in order)
        long = frozenset(digest for digest, end in zip(order, ends, strict=True) if end > room)
        events, left_out = [], [*self._withheld]
        sieve = _Sieve(self._search, self._rules.wishes, long)
        for row in self._rows:
            event, gone = _shared(row, sieve)
            events.append(event)
            left_out += gone
        left_out += [
            LeftOut(version=self._texts[digest].version, digest=digest, why="long")
            for digest in long & self._texts.keys()
        ]
        return SharedRecord(
            session=self._session,
            language=self._rules.language,
            events=tuple(events),
            texts={digest: self._texts[digest].content for digest in sorted(self._texts.keys() - long)},
            left_out=tuple(sorted({*left_out}, key=lambda each: (each.version, each.digest, each.why))),
            proofs=tuple(self._proof(version) for version in _ends(events)),
            checkpoint=self._signed,
            public_key=self._key,
        )

    def _proof(self, version: int) -> RunProof:
        return RunProof(version=version, index=self._places[version], path=self._tree.path(self._places[version]))


def _ends(events: Sequence[SharedEvent]) -> list[int]:
    """The last event, each cut one, and the one before each: what no later hash that can be computed covers."""
    ends = {events[-1].version}
    for event in events:
        if event.cut:
            ends |= {event.version, event.version - 1} - {0}
    return sorted(ends)


def _shared(row: Row, sieve: _Sieve) -> tuple[SharedEvent, list[LeftOut]]:
    words = sealed_words(row)
    event, seals = halves(words)
    blanks = _blanked(event, sieve, "")
    if blanks.gone:
        named = [seal for seal in seals if not any(sieve.search.is_in(str(part)) for part in seal[0])]
        words = "\0".join(orjson.dumps(part).decode() for part in (blanks.value, named) if part != [])
    shared = SharedEvent(
        version=row.version,
        type=row.topic,
        form=row.form,
        state=words,
        hash=row.hash.hex(),
        cut=bool(blanks.gone),
    )
    return shared, [LeftOut(version=row.version, digest=digest, why=why) for digest, why in blanks.gone]


def _blanked(value: Any, sieve: _Sieve, name: str) -> Blanks:
    """The value without strings that hold a secret, without prompts and transcripts that nobody asked for, and with the
    beginnings of those that are too long."""
    match value:
        case {"head": str() as text} if text and name in ("prompt", "transcript") and sieve.is_unasked(name):
            digest = str(value.get("digest") or _digest(text))
            why: Withheld = "prompt" if name == "prompt" else "transcript"
            return Blanks({**value, "head": ""}, ((digest, why),))
        case dict():
            parts = {key: _blanked(part, sieve, key) for key, part in value.items()}
            names: dict[str, tuple[str, Withheld]] = {
                key: (_digest(key), "secret") for key in parts if sieve.search.is_in(key)
            }
            gone = tuple(entry for part in parts.values() for entry in part.gone)
            shown = {"" if key in names else key: part.value for key, part in parts.items()}
            return Blanks(shown, (*names.values(), *gone))
        case list():
            entries = [_blanked(part, sieve, name) for part in value]
            return Blanks([part.value for part in entries], tuple(entry for part in entries for entry in part.gone))
        case str() if sieve.search.is_in(value):
            return Blanks("", ((_digest(value), "secret"),))
        case str() if sieve.long and len(value) >= CUT and (digest := _digest(value)) in sieve.long:
            return Blanks(f"{value[:_KEPT]}…", ((digest, "long"),))
        case _:
            return Blanks(value, ())


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _texts(
    log: Log, rows: Sequence[Row], wishes: Collection[str], search: SecretSearch
) -> tuple[dict[str, QuotedText], list[LeftOut]]:
    """The texts that may be in the file, by their digests, and those that may not."""
    wanted: dict[str, QuotedText] = {}
    left_out: list[LeftOut] = []
    withheld: dict[str, QuotedText] = {}
    for row in rows:
        for text in texts_of(log, row):
            if text.wish and text.wish not in wishes:
                withheld.setdefault(text.digest, text)
            else:
                wanted.setdefault(text.digest, text)
    for text in withheld.values():
        if text.digest not in wanted:
            why: Withheld = "transcript" if text.wish == "transcripts" else "prompt"
            left_out.append(LeftOut(version=text.version, digest=text.digest, why=why))
    for text in [text for text in wanted.values() if search.is_in(text.content)]:
        left_out.append(LeftOut(version=text.version, digest=text.digest, why="secret"))
        del wanted[text.digest]
    return wanted, left_out


def _sizes(rows: Sequence[Row], texts: Mapping[str, QuotedText]) -> dict[str, int]:
    """The bytes of each text that may be left out for its size, by its digest."""
    sizes = {digest: len(text.content.encode()) for digest, text in texts.items()}
    for row in rows:
        event = orjson.loads(sealed_words(row).partition("\0")[0])
        sizes |= {_digest(words): len(words.encode()) for words in strings_in(event) if len(words) >= CUT}
    return sizes


class _Ranges:
    """The roots of parts of a Merkle tree, each computed once (RFC 6962 §2.1)."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._leaves = leaves
        self._roots: dict[tuple[int, int], bytes] = {}

    def path(self, index: int) -> tuple[str, ...]:
        """The audit path of a leaf, from the leaf up."""
        first, past, parts = 0, len(self._leaves), list[bytes]()
        while past - first > 1:
            split = first + (1 << (past - first - 1).bit_length() - 1)
            if index < split:
                parts.append(self._root(split, past))
                past = split
            else:
                parts.append(self._root(first, split))
                first = split
        return tuple(part.hex() for part in reversed(parts))

    def _root(self, first: int, past: int) -> bytes:
        if past - first == 1:
            return self._leaves[first]
        if (first, past) not in self._roots:
            split = first + (1 << (past - first - 1).bit_length() - 1)
            self._roots[first, past] = node(self._root(first, split), self._root(split, past))
        return self._roots[first, past]
