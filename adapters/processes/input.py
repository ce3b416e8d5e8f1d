"""A program's input, written while it runs."""

import asyncio
import os
from typing import IO, Final

# The input of a running program.
_WRITE_BYTES: Final = 65_536


class Input:
    """A standard input that stays open until `close`. Belongs to one event loop, and to one run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._pipe: IO[bytes] | None = None
        self._closing = self._waits = False

    def write(self, data: bytes) -> None:
        """Never blocks: what the program does not read yet is queued. After its end, this does nothing."""
        if not self._closing:
            self._waiting += data
            self._pass_on()

    def close(self) -> None:
        """The program sees the end of its input once it has read everything."""
        self._closing = True
        self._pass_on()

    def attach(self, pipe: IO[bytes]) -> None:
        """The program has started."""
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._pass_on()

    def detach(self) -> None:
        """The program has ended, or does not read any more."""
        self._closing = True
        self._waiting.clear()
        if self._pipe is not None:
            self._wait_no_more(self._pipe)
            self._pipe.close()
            self._pipe = None

    def _pass_on(self) -> None:
        if self._pipe is None:
            return
        try:
            while self._waiting:
                taken = os.write(self._pipe.fileno(), self._waiting[:_WRITE_BYTES])
                del self._waiting[:taken]
        except BlockingIOError:
            if not self._waits:
                self._waits = True
                self._loop.add_writer(self._pipe.fileno(), self._pass_on)
            return
        except OSError:  # it does not read any more
            self.detach()
            return
        self._wait_no_more(self._pipe)
        if self._closing:
            self.detach()

    def _wait_no_more(self, pipe: IO[bytes]) -> None:
        if self._waits:
            self._waits = False
            self._loop.remove_writer(pipe.fileno())
