"""The beginning and the end of what is written to several streams, where the whole is too much to keep."""

import codecs
from typing import Final

_FIRST: Final = 8
"""Of each stream an eighth of the cap is kept for its beginning; the ends share what is left of it."""


class Ends:
    """At most `cap` bytes of all streams together. While they fit, all is kept; then the longest end gives way."""

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
        """With a line that says so in place of what was left out."""
        return self._parts[stream].text()


class _Part:
    def __init__(self) -> None:
        self.head, self.tail = bytearray(), bytearray()
        self.left_out = 0

    def drop(self, size: int) -> int:
        """Drop so much from the front of the end, or all there is; how much that was."""
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
