"""The first phase of a verification: the stored bytes. Positions, hash chains, the tree, long texts, receipts, keys.

Nothing is decoded but the removals of texts. Memory grows with the number of sessions, not with that of events.
"""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from hashlib import sha256
from typing import Final

from adapters.proof.mentions import mentioned
from adapters.proof.merkle import Tree
from adapters.proof.redactions import ChangedEvents
from adapters.proof.verdict import Verification
from adapters.store.errors import StoreError
from adapters.store.port import PAGE
from adapters.store.rows import Row, Rows, chained
from adapters.store.seal import FORM
from domain.session.redaction import REDACTED, TextRedacted
from domain.values.sentences import Sentence, sentence_of

_NAMED: Final = b'"digest":"'
_TEMPLATE: Final = b'"template":"'
_NAMES: Final = re.compile(rb'"(?:digest|template)":"([0-9a-f]{64})"')
_PENDING: Final = 10_000
"""Digests that are looked up together."""


def check_events(rows: Rows, verdict: Verification, *, covered: int = 0, allowed: Set[str] = frozenset()) -> None:
    """Check positions, versions and hashes, and that each text that an event refers to exists.

    Up to the position `covered` a checkpoint says what the hashes were: a redaction excuses a change there only if its
    digest is one of `allowed`.
    """
    tree, heads, changed = Tree(), dict[str, tuple[int, bytes, int]](), ChangedEvents(rows.known_texts)
    texts, quoted = _Texts(rows, verdict), verdict.quoted
    expected = 1
    for page in _readable(rows, verdict):
        verdict.events += len(page)
        tree.extend([row.hash for row in page])
        for row in page:
            position, stream, version, topic, state, digest, form = row
            if position != expected:
                verdict.blame(expected, _missing(expected, position - 1))
            expected = position + 1
            last, previous, newest_form = heads.get(stream, (0, b"", 1))
            if version != last + 1:
                verdict.blame(position, Sentence("fault_version", number=version, id=stream, last=last))
            if chained(previous, stream, version, topic, state, form) != digest:
                changed.add(row, form=newest_form)
            heads[stream] = (version, digest, max(form, newest_form))
            if form >= FORM:
                quoted.follow(row)
            if _NAMED in state or _TEMPLATE in state:
                texts.follow(position, state)
            if topic == TextRedacted.TOPIC:
                changed.excuse(row, verdict, covered, allowed)
    texts.look_up()
    verdict.head, verdict.sessions, verdict.root = expected - 1, len(heads), tree.root().hex()
    changed.blame(verdict)
    quoted.blame_blanks(verdict)
    newest = rows.last_given()
    if newest != verdict.head:
        verdict.blame(verdict.head + 1, Sentence("fault_end_missing", number=newest, last=verdict.head))


def _missing(first: int, last: int) -> Sentence:
    if first == last:
        return Sentence("fault_event_missing", number=first)
    return Sentence("fault_events_missing", number=first, last=last)


def _readable(rows: Rows, verdict: Verification) -> Iterator[Sequence[Row]]:
    """The readable rows; the others are reported one by one, up to the limit of faults."""
    after = 0
    while not verdict.full:
        try:
            for page in rows.pages(after=after):
                yield page
                after = page[-1].position if page else after
            return
        except StoreError:
            after = yield from _singly(rows, verdict, after)


def _singly(rows: Rows, verdict: Verification, after: int) -> Generator[Sequence[Row], None, int]:
    """The rows of a stretch that cannot be read at once. The position where it ends."""
    end = after + PAGE
    while after < end and not verdict.full:
        try:
            row = next(iter(rows.events(after=after, page=1)), None)
        except StoreError as error:
            after += 1
            verdict.blame(after, sentence_of(error))
            continue
        if row is None:
            return after
        yield (row,)
        after = row.position
    return after


class _Texts:
    """A check that the texts that events refer to exist. Digests are looked up many at a time."""

    def __init__(self, rows: Rows, verdict: Verification) -> None:
        self._rows, self._verdict = rows, verdict
        self._pending: dict[bytes, int] = {}
        self._missing: set[str] = set()

    def follow(self, position: int, state: bytes) -> None:
        """One more event, at a later position."""
        for digest in _NAMES.findall(state):
            self._pending.setdefault(digest, position)
        if len(self._pending) >= _PENDING:
            self.look_up()

    def look_up(self) -> None:
        """A digest that no text has may be one of something else, such as a prompt: then it is read more closely."""
        named = {digest.decode(): position for digest, position in self._pending.items()}
        self._pending.clear()
        for digest in named.keys() - self._rows.known_texts(list(named)) - self._missing:
            if digest in _mentions(self._rows, named[digest]):
                self._missing.add(digest)
                self._verdict.blame(named[digest], Sentence("fault_text_missing", digest=digest))


def _mentions(rows: Rows, position: int) -> frozenset[str]:
    """The texts of one event."""
    row = next(iter(rows.events(after=position - 1, page=1)), None)
    return frozenset() if row is None else frozenset(mentioned(row.state))


def check_texts(rows: Rows, verdict: Verification) -> None:
    """Every text must match its digest; a removed one says so."""
    redacted = {text.digest for text in verdict.redacted}
    wrong = []
    for digest, content in rows.texts():
        gone = digest in redacted and content == REDACTED
        verdict.quoted.compare(digest, None if gone else content, verdict)
        if not gone and sha256(content.encode()).hexdigest() != digest:
            wrong.append(digest)
    places = _places(rows, wrong) if wrong else {}
    for digest in wrong:
        verdict.blame(places.get(digest), Sentence("fault_text_changed", digest=digest))


def _places(rows: Rows, digests: list[str]) -> Mapping[str, int]:
    """The first events that refer to these texts."""
    places: dict[str, int] = {}
    for row in rows.events():
        for digest in mentioned(row.state):
            if digest in digests:
                places.setdefault(digest, row.position)
    return places
