"""Sends signed checkpoints automatically: to a file or folder, or to a command's standard input."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adapters.processes.environment import clean_environment
from adapters.processes.program import run
from adapters.proof.checkpoints import GrowingHead, holds, noted, sign, signing_key
from adapters.store.port import Log
from api.node.checkpoint_place import command_of, path_of
from api.node.settings import Settings
from domain.session.record import Recorded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SECONDS: Final = 60.0
"""Seconds that the command may take."""
AGAIN_SECONDS: Final = 30.0
"""Seconds after a failure until a checkpoint is tried again."""

_log = logging.getLogger(__name__)


def checkpointer_of(store: Log, settings: Settings, place: str) -> "Checkpointer":
    """Sends checkpoints to `place`, signed with this machine's key. Call it in the loop."""
    return Checkpointer(store, signing_key(settings.signing_key), place, settings.checkpoint_every)


class Checkpointer:
    """Sends a checkpoint to `place` after a number of events. A damaged log is not signed; the damage is logged.

    The log is read once when this begins, then only new events. What shows that its end is missing is not replaced.
    """

    def __init__(self, store: Log, key: "Ed25519PrivateKey", place: str, every: int) -> None:
        self._store, self._head, self._key = store, GrowingHead(store), key
        self._place, self._every, self._kept, self._compared = place, every, 0, False
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def seen(self, page: Sequence[Recorded]) -> None:
        """There are new events; called in the thread that follows the log."""
        if page:
            self._loop.call_soon_threadsafe(self._woken.set)

    def rewound(self, _: int) -> None:
        """Read the log again from its beginning, since it has gone back; called in the thread that follows it."""
        self._loop.call_soon_threadsafe(self._begin_again)

    def _begin_again(self) -> None:
        self._head, self._kept = GrowingHead(self._store), 0
        self._compared = False
        self._woken.set()

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._round()
            except Exception as error:  # outermost handler: what fails now is tried again
                _log.warning("no checkpoint could be put to %s: %s", self._place, error)
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            await self._woken.wait()

    async def _round(self) -> None:
        await asyncio.to_thread(self._head.read)
        if not self._compared:
            await asyncio.to_thread(_compare, self._store, self._place)
            self._compared = True
        size = self._head.size
        if size // self._every <= self._kept // self._every:
            return
        note = sign(self._head.now(), self._key)
        argv = command_of(self._place)
        if argv is None:
            await asyncio.to_thread(_write, self._place, size, note)
        else:
            await _hand_over(argv, note)
        self._kept = size


def _compare(store: Log, place: str) -> None:
    """Say so where the newest checkpoint in a file or folder is of a log that this one does not continue."""
    if command_of(place) is not None:
        return
    path = path_of(place)
    newest = max(path.glob("checkpoint-*.txt"), default=None) if path.is_dir() else path
    if newest is None or not newest.is_file():
        return
    before = noted(newest.read_text(encoding="utf-8", errors="replace"))
    if before is None or (fault := holds(store, before)) is None:
        return
    where = newest if path.is_dir() else _set_aside(newest)
    _log.warning(
        "the log does not continue the one of the last checkpoint (%s): after a restore or a failover, it lacks what"
        " was recorded last; otherwise, its end was cut off or it was rewritten. That checkpoint is in %s",
        fault,
        where,
    )


def _write(place: str, size: int, note: str) -> None:
    """Into a folder as a separate file, otherwise replacing the previous one; never only half of it."""
    path = path_of(place)
    target = path / f"checkpoint-{size:012}.txt" if path.is_dir() else path
    half = target.with_name(f".{target.name}.half")
    half.write_text(note, encoding="utf-8")
    if path.is_dir() and target.exists() and noted(target.read_text(errors="replace")) != noted(note):
        _set_aside(target)
    half.replace(target)


def _set_aside(checkpoint: Path) -> Path:
    """Give it a name of its own, beside what takes its place."""
    digest = hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    return checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}.before-{digest[:12]}"))


async def _hand_over(argv: list[str], note: str) -> None:
    home = Path.home()
    environment = clean_environment(home=home)
    result = await run(argv, cwd=home, env=environment, stdin=note.encode(), wall_seconds=SECONDS, output_bytes=65_536)
    if result.exit_code != 0:
        raise OSError(result.detail or f"exit code {result.exit_code}: {result.stderr.strip()[-500:]}")
