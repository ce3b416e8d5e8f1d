"""Finds the parts of a shared file, also where one byte of the tags between them was changed, and names them."""

import re
from typing import Final, NamedTuple

from api.share.page import END, START
from domain.values.sentences import Sentence

_START: Final = START.encode()
_END: Final = END.encode()
_BESIDE: Final = len('<span hidden data-signature="')
_SIGNATURE: Final = 88
"""Letters of a signature in base64."""
_MARKS: Final = (
    (b"<style>", "shared_part_style"),
    (b"<header>", "shared_part_head"),
    (b'<h2 id="events">', "shared_part_events"),
    (b'<h2 id="turns">', "shared_part_turns"),
    (b'<h2 id="changes">', "shared_part_changes"),
    (b'<h2 id="worklog">', "shared_part_worklog"),
    (b'<h2 id="left-out">', "shared_part_left_out"),
    (b'<h2 id="proof">', "shared_part_proof"),
    (_START, "shared_part_record"),
    (b"<span hidden data-signature=", "shared_part_signature"),
    (b"<script>", "shared_part_script"),
)
"""How each part begins, in their order."""


def _nearly(mark: bytes) -> re.Pattern[bytes]:
    """The mark with at most one other byte."""
    ways = (re.escape(mark[:at]) + b"." + re.escape(mark[at + 1 :]) for at in range(len(mark)))
    return re.compile(b"|".join(ways), re.DOTALL)


_NEARLY_START: Final = _nearly(_START)
_NEARLY_END: Final = _nearly(_END)


class RecordPlace(NamedTuple):
    """The bytes of the record in a file, from `first` to before `past`, and of its signature."""

    first: int
    past: int
    record: bytes
    signature: bytes

    @property
    def beside(self) -> int:
        """The place of the signature's first byte."""
        return self.past + len(_END) + _BESIDE


def place_of(content: bytes) -> RecordPlace | None:
    """Returns where the record is; None where it does not begin. Up to the end of the file if it does not end."""
    start = _NEARLY_START.search(content)
    if start is None:
        return None
    end = _NEARLY_END.search(content, start.end())
    if end is None:
        return RecordPlace(start.end(), len(content), content[start.end() :], b"")
    beside = end.end() + _BESIDE
    return RecordPlace(
        start.end(), end.start(), content[start.end() : end.start()], content[beside : beside + _SIGNATURE]
    )


def part_at(content: bytes, at: int) -> Sentence:
    """The name of the part with this byte in a file that is whole."""
    name = "shared_part_beginning"
    past = 0
    for mark, part in _MARKS:
        begin = content.find(mark, past)
        if begin > at:
            break
        if begin >= 0:
            name, past = part, begin + len(mark)
    return Sentence(name)
