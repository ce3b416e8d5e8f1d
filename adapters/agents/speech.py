"""The speech of an agent while it works, in pieces that are worth showing."""

import asyncio
from collections.abc import Callable
from typing import Final, Literal

import orjson

from adapters.agents.activity import TEXT, Activity, tail

# An agent's stream, piece by piece, as frames: pieces are joined and shown a few times per second.
PAUSE: Final = 0.15
"""Seconds after which received text is shown."""
MORE: Final = 0.1
"""Seconds that an incomplete word or line waits for its end after that, so that a reader has it within 0.3 seconds."""
Voice = Literal["message", "thought", "notice"]
_ENDS: Final[dict[Voice, str]] = {"message": " \n", "thought": " \n", "notice": "\n"}
"""Where a frame may end: at blanks in speech, at line ends in the output of a command."""


class Speech:
    """The stream of one turn. Belongs to one event loop; call `flush` at the end, whatever the outcome of the turn."""

    def __init__(self, observe: Callable[[Activity], None], transcribe: Callable[[str], None] | None = None) -> None:
        self._observe, self._transcribe = observe, transcribe
        self._loop = asyncio.get_running_loop()
        self._kind: Voice = "message"
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def say(self, kind: Voice, text: str) -> None:
        """Add a piece."""
        if kind != self._kind:
            self.flush()
            self._kind = kind
        self._pieces.append(text)
        if sum(map(len, self._pieces)) >= TEXT // 2:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(PAUSE, self._pass_on)

    def flush(self) -> None:
        """Show everything received so far, because something else follows."""
        self._stop()
        self._show("".join(self._pieces))
        self._pieces = []

    def _pass_on(self) -> None:
        """Show the complete words, or lines. An incomplete one waits once for its end."""
        self._timer = None
        text = "".join(self._pieces)
        whole = max(text.rfind(end) for end in _ENDS[self._kind]) + 1
        self._show(text[:whole])
        self._pieces = [text[whole:]] if text[whole:] else []
        if self._pieces:
            self._timer = self._loop.call_later(MORE, self.flush)

    def _show(self, text: str) -> None:
        if text and self._transcribe is not None:
            self._transcribe(orjson.dumps({self._kind: text}).decode())
        if text.strip():
            self._observe(Activity(kind=self._kind, text=tail(text)))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
