"""What an agent streams piece by piece, as frames: words are joined, and shown a few times a second."""

import asyncio
from collections.abc import Callable
from typing import Final, Literal

import orjson

from adapters.agents.activity import TEXT, Activity, tail

PAUSE: Final = 0.15
"""Seconds after which words that have come are shown."""

Voice = Literal["message", "thought"]


class Speech:
    """The stream of one turn. Belongs to one event loop; `flush` at the end, whatever became of the turn."""

    def __init__(self, observe: Callable[[Activity], None], transcribe: Callable[[str], None] | None = None) -> None:
        self._observe, self._transcribe = observe, transcribe
        self._loop = asyncio.get_running_loop()
        self._kind: Voice = "message"
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def say(self, kind: Voice, text: str) -> None:
        """A piece of a message or a thought has come."""
        if kind != self._kind:
            self.flush()
            self._kind = kind
        self._pieces.append(text)
        if sum(map(len, self._pieces)) >= TEXT // 2:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(PAUSE, self._pass_on)

    def flush(self) -> None:
        """Show all that has come: something else follows."""
        self._stop()
        self._show("".join(self._pieces))
        self._pieces = []

    def _pass_on(self) -> None:
        """Show the whole words; one that has only begun waits once more for its end."""
        self._timer = None
        text = "".join(self._pieces)
        whole = max(text.rfind(" "), text.rfind("\n")) + 1 or len(text)
        self._show(text[:whole])
        self._pieces = [text[whole:]] if text[whole:] else []
        if self._pieces:
            self._timer = self._loop.call_later(PAUSE, self.flush)

    def _show(self, text: str) -> None:
        if text and self._transcribe is not None:
            self._transcribe(orjson.dumps({self._kind: text}).decode())
        if text.strip():
            self._observe(Activity(kind=self._kind, text=tail(text)))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
