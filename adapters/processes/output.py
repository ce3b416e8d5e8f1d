"""A program's output while it runs, and its input."""

import asyncio
import codecs
import io
import os
import subprocess
from collections.abc import Callable
from typing import IO, Final, Literal

from adapters.processes.ends import Ends

Ended = Literal["exit", "timeout", "idle", "output", "disk", "not_started"]
"""Why it ended: by itself; after `wall_seconds`; silent for `idle_seconds`; too much output; no disk space; it never
started."""
OnLine = Callable[[int, str], None]
"""Gets the whole lines of a stream: 1 is stdout, 2 is stderr."""
_CHUNK_BYTES: Final = 65_536
_DRAIN_SECONDS: Final = 0.5
_BREATH_SECONDS: Final = 0.001
"""Between two reads beyond the cap: a program that writes endlessly must not take all our time."""


class Output:
    """Both streams, decoded as they arrive, up to a common cap. Beyond it, they are still read, but not kept.

    With `keep_ends`, the cap does not end the run: the beginning and the end of each stream are kept, within the cap.
    """

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        cap: int,
        on_output: Callable[[str], None] | None,
        on_line: OnLine | None = None,
        *,
        keep_ends: bool = False,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._left, self._on_output, self._on_line = cap, on_output, on_line
        self.over: asyncio.Future[Ended] = self._loop.create_future()
        """Done when the output itself ends the run: there is too much of it, or `on_output` failed."""
        self.latest = self._loop.time()
        pipes = [pipe for pipe in (popen.stdout, popen.stderr) if pipe is not None]
        self._streams = tuple(_Stream(place, pipe, self._loop.create_future()) for place, pipe in enumerate(pipes))
        self._ends = Ends(cap, len(pipes)) if keep_ends else None
        for stream in self._streams:
            os.set_blocking(stream.pipe.fileno(), False)
            self._loop.add_reader(stream.pipe.fileno(), self._read, stream)

    def text(self, number: int) -> str:
        return self._streams[number].text.getvalue() if self._ends is None else self._ends.text(number)

    @property
    def left_out(self) -> int:
        """Number of bytes between the ends."""
        return 0 if self._ends is None else self._ends.left_out

    async def drain(self) -> None:
        """Read what is still in the pipes. The wait is bounded: a survivor that keeps one open must not block us."""
        await asyncio.wait({stream.ended for stream in self._streams}, timeout=_DRAIN_SECONDS)

    def close(self) -> None:
        for stream in self._streams:
            self._stop(stream)
        if not self.over.cancel():
            self.over.exception()  # marked as retrieved: a cancelled caller does not ask for it

    def _read(self, stream: "_Stream") -> None:
        try:
            chunk = os.read(stream.pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        self.latest = self._loop.time()
        if not chunk:
            self._stop(stream)
        head = chunk[: self._left] if self._ends is None else chunk
        self._left -= len(head)
        try:
            self._keep(stream, head, final=not chunk)
        except Exception as error:  # the listener's error is raised where the run is awaited
            if not self.over.done():
                self.over.set_exception(error)
        if len(head) < len(chunk) and not self.over.done():
            self.over.set_result("output")
        elif self.left_out:
            self._rest(stream)

    def _keep(self, stream: "_Stream", data: bytes, *, final: bool) -> None:
        text = stream.decoder.decode(data, final and not self.over.done())
        if self._ends is None:
            stream.text.write(text)
        else:
            self._ends.add(stream.number, data)
        if text and self._on_output is not None:
            self._on_output(text)
        if self._on_line is not None:
            self._lines(stream, text, self._on_line, final=final)

    def _lines(self, stream: "_Stream", text: str, listener: OnLine, *, final: bool) -> None:
        """Pass on complete lines; an incomplete one waits for its end, or that of the stream."""
        stream.begun.append(text)
        if "\n" not in text and not final:
            return
        *whole, rest = "".join(stream.begun).split("\n")
        stream.begun = [] if final else [rest]
        for line in [*whole, rest] if final and rest else whole:
            listener(stream.number + 1, line)

    def _rest(self, stream: "_Stream") -> None:
        if not stream.ended.done():
            self._loop.remove_reader(stream.pipe.fileno())
            stream.pause = self._loop.call_later(_BREATH_SECONDS, self._go_on, stream)

    def _go_on(self, stream: "_Stream") -> None:
        self._loop.add_reader(stream.pipe.fileno(), self._read, stream)

    def _stop(self, stream: "_Stream") -> None:
        if stream.ended.done():
            return
        stream.ended.set_result(None)
        if stream.pause is not None:
            stream.pause.cancel()
        self._loop.remove_reader(stream.pipe.fileno())
        stream.pipe.close()


class _Stream:
    def __init__(self, number: int, pipe: IO[bytes], ended: asyncio.Future[None]) -> None:
        self.number, self.pipe, self.ended = number, pipe, ended
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.text = io.StringIO()
        self.begun: list[str] = []
        self.pause: asyncio.TimerHandle | None = None
