"""Reads a session from the log for a shared file: what may be shown, within its size, with proof."""

import base64
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from adapters.proof.checkpoints import head, public_text, sign
from adapters.proof.merkle import leaf, node
from adapters.references import Secrets
from adapters.store.port import Log
from adapters.store.rows import Row
from api.share.shared_record import (
    ON_REQUEST,
    Blanks,
    LeftOut,
    QuotedText,
    RunProof,
    SharedEvent,
    SharedRecord,
    Withheld,
    sealed_words,
    texts_of,
)
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from domain.values.words import Language

MOST_BYTES: Final = 1_900_000
"""About how large a file may become: the page repeats parts of the record."""
_PER_EVENT: Final = 420
"""Bytes that the page has for an event."""
_LONGEST_TEXT: Final = 300_000


class SharingRules(NamedTuple):
    """What may be in the file: the known secrets may not, and what is only there on request."""

    secrets: Secrets
    wishes: Collection[str] = ()
    language: Language = "en"


def collected(
    log: Log, session_id: str, version: int | None, key: Ed25519PrivateKey, rules: SharingRules
) -> SharedRecord:
    """The record of a session up to a version. Raises Unknown, and NotProved for a log that was changed."""
    checkpoint = head(log)
    leaves: list[bytes] = []
    places: dict[int, int] = {}
    rows: list[Row] = []
    for row in log.rows.events():
        if len(leaves) == checkpoint.size:
            break
        if row.stream == session_id and (version is None or row.version <= version):
            places[row.version] = len(leaves)
            rows.append(row)
        leaves.append(leaf(row.hash))
    if not rows or (version is not None and rows[-1].version != version):
        raise Unknown(Sentence("version_not_found", number=version or 1, id=session_id))
    cuts = [_shared(row, rules) for row in rows]
    events = [event for event, _ in cuts]
    left_out = [entry for _, entries in cuts for entry in entries]
    texts, more = _texts(log, rows, rules, room=MOST_BYTES - sum(len(e.state) + _PER_EVENT for e in events))
    tree = _Ranges(leaves)
    proofs = [RunProof(version=v, index=places[v], path=tree.path(places[v])) for v in _ends(events)]
    record = SharedRecord(
        session=session_id,
        language=rules.language,
        events=tuple(events),
        texts=texts,
        left_out=tuple(sorted({*left_out, *more}, key=lambda each: (each.version, each.digest))),
        proofs=tuple(proofs),
        checkpoint=sign(checkpoint, key),
        public_key=public_text(key),
    )
    return signed(record, key)


def signed(record: SharedRecord, key: Ed25519PrivateKey) -> SharedRecord:
    """The record with the signature of all that is in it."""
    return record.model_copy(update={"signature": base64.b64encode(key.sign(record.signed_bytes())).decode()})


def _ends(events: Sequence[SharedEvent]) -> list[int]:
    """The last event, each cut one, and the one before each: what no later hash that can be computed covers."""
    ends = {events[-1].version}
    for event in events:
        if event.cut:
            ends |= {event.version, event.version - 1} - {0}
    return sorted(ends)


def _shared(row: Row, rules: SharingRules) -> tuple[SharedEvent, list[LeftOut]]:
    words = sealed_words(row)
    text, zero, seals = words.partition("\0")
    event = orjson.loads(text)
    blanks = _blanked(event, rules, "")
    if blanks.gone:
        words = orjson.dumps(blanks.value).decode() + zero + seals
    shared = SharedEvent(
        version=row.version,
        type=row.topic,
        form=row.form,
        state=words,
        hash=row.hash.hex(),
        cut=bool(blanks.gone),
    )
    return shared, [LeftOut(version=row.version, digest=digest, why=why) for digest, why in blanks.gone]


def _blanked(value: Any, rules: SharingRules, name: str) -> Blanks:
    """The value without strings that hold a secret, and without prompts and transcripts that nobody asked for."""
    match value:
        case {"head": str() as text} if text and name in ("prompt", "transcript") and _unasked(name, rules):
            digest = str(value.get("digest") or _digest(text))
            why: Withheld = "prompt" if name == "prompt" else "transcript"
            return Blanks({**value, "head": ""}, ((digest, why),))
        case dict():
            parts = {key: _blanked(part, rules, key) for key, part in value.items()}
            gone = tuple(entry for part in parts.values() for entry in part.gone)
            return Blanks({key: part.value for key, part in parts.items()}, gone)
        case list():
            entries = [_blanked(part, rules, name) for part in value]
            return Blanks([part.value for part in entries], tuple(entry for part in entries for entry in part.gone))
        case str() if rules.secrets.named_in(value):
            return Blanks("", ((_digest(value), "secret"),))
        case _:
            return Blanks(value, ())


def _unasked(name: str, rules: SharingRules) -> bool:
    return ON_REQUEST[name] not in rules.wishes


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _texts(log: Log, rows: Sequence[Row], rules: SharingRules, *, room: int) -> tuple[dict[str, str], list[LeftOut]]:
    """The texts that may be in the file, the shortest first as long as there is room; the page may repeat each."""
    wanted: dict[str, QuotedText] = {}
    left_out: list[LeftOut] = []
    withheld: dict[str, QuotedText] = {}
    for row in rows:
        for text in texts_of(log, row):
            if text.wish and text.wish not in rules.wishes:
                withheld.setdefault(text.digest, text)
            else:
                wanted.setdefault(text.digest, text)
    for text in withheld.values():
        if text.digest not in wanted:
            why: Withheld = "transcript" if text.wish == "transcripts" else "prompt"
            left_out.append(LeftOut(version=text.version, digest=text.digest, why=why))
    texts: dict[str, str] = {}
    for text in sorted(wanted.values(), key=lambda each: (len(each.content), each.digest)):
        size = 2 * len(orjson.dumps(text.content))
        if rules.secrets.named_in(text.content):
            left_out.append(LeftOut(version=text.version, digest=text.digest, why="secret"))
        elif size > room or size > 2 * _LONGEST_TEXT:
            left_out.append(LeftOut(version=text.version, digest=text.digest, why="long"))
        else:
            texts[text.digest], room = text.content, room - size
    return dict(sorted(texts.items())), left_out


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
