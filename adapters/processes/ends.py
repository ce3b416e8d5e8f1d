"""The beginning and the end of an output that is too long to be kept whole."""

import codecs
from typing import Final

_FIRST: Final = 8
"""An eighth of the cap is kept for the beginning of each stream; their ends share the rest."""


class Ends:
    """At most `cap` bytes of all streams together. As long as they fit, all is kept; then the longest end is
    shortened."""

    def __init__(self, cap: int, streams: int) -> None:
        self._room, self._first = cap, cap // _FIRST
        self._parts = tuple(_Part() for _ in range(streams))

    @property
    def left_out(self) -> int:
        return sum(part.left_out for part in self._parts)

    def add(self, stream: int, data: bytes) -> None:
        part = self._parts[stream]
        begins = max(self._first - len(part.head), 0)
        part.head += data[:begins]
        part.tail += data[begins:]
        self._room -= len(data)
        while self._room < 0:
            longest = max(self._parts, key=lambda part: len(part.tail))
            self._room += longest.drop(-self._room)

    def text(self, stream: int) -> str:
        """With a line that says so in place of the omitted part."""
        return self._parts[stream].text()


class _Part:
    def __init__(self) -> None:
        self.head, self.tail = bytearray(), bytearray()
        self.left_out = 0

    def drop(self, size: int) -> int:
        """Drop this much from the front of the end, or everything. Returns how much that was."""
        dropped = min(size, len(self.tail))
        del self.tail[:dropped]
        self.left_out += dropped
        return dropped

    def text(self) -> str:
        if not self.left_out:
            return (self.head + self.tail).decode(errors="replace")
        head = codecs.getincrementaldecoder("utf-8")(errors="replace").decode(self.head)  # not half a character
        cut = next((place for place in range(min(4, len(self.tail))) if self.tail[place] & 0xC0 != 0x80), 0)
        return f"{head}\n[… {self.left_out} bytes left out here]\n{self.tail[cut:].decode(errors='replace')}"
