"""Claiming turns for this worker, holding them, and taking back what dead workers of this machine held.

Each worker of a machine holds a lock on a file with its name, which is released with its process.
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import secrets
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, Final, Protocol

from adapters import processes
from adapters.store import Lease, StoreError, Turns
from adapters.store.turns import TurnScan
from adapters.turns.routing import Routing
from adapters.turns.sharing import Sharing
from domain.session.record import Recorded
from domain.session.turns import AgentSessionsCleared, Settled, TurnAttemptFailed, TurnRequested, TurnRetried

_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def this_machine() -> str:
    """This machine since its start: its id and that of its boot. A host name is not enough: other machines may have the
    same one, and containers share a machine id or have none. The address of a network card counts only where nothing
    else is known: that of a container changes when it is started again."""
    boot = _content(_BOOT_ID)
    machine = next(filter(None, map(_content, _MACHINE_IDS)), "") or ("" if boot else str(uuid.getnode()))
    return hashlib.sha256(f"{machine}\n{boot}".encode()).hexdigest()[:12]


def _content(path: Path) -> str:
    with suppress(OSError):
        return path.read_text().strip()
    return ""


def present(folder: Path) -> tuple[str, ...]:
    """The workers of this machine that are alive and use this folder."""
    if not folder.is_dir():
        return ()
    return tuple(sorted(path.name for path in folder.iterdir() if path.name[:1] != "." and not _is_free(path)))


class Peers(Protocol):
    """This worker's name, and what it knows of other workers."""

    @property
    def name(self) -> str: ...
    def others(self) -> tuple[str, ...]: ...
    def gone(self, name: str) -> bool: ...
    def forget(self, name: str) -> None: ...
    def leave(self) -> None: ...


class Presence:
    """This process's own name and lock, and what is known of other workers."""

    def __init__(self, folder: Path, *, machine: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._machine = folder, machine or this_machine()
        self.name = f"{os.uname().nodename}.{self._machine}.{os.getpid()}.{secrets.token_hex(4)}"
        self._file = self._locked()
        self._tidy()

    def _locked(self) -> IO[str]:
        """The file is locked before it gets its name, so that no live worker looks dead."""
        draft = self._folder / f".{self.name}"
        file = draft.open("w")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(self._folder / self.name)
        return file

    def _tidy(self) -> None:
        """Remove files from before the last boot: they mean nothing any more."""
        for name in self.others():
            if not self._is_ours(name) and self._is_free(name):
                self.forget(name)

    def leave(self) -> None:
        self.forget(self.name)
        self._file.close()

    def others(self) -> tuple[str, ...]:
        """Workers that have not left, alive or dead."""
        names = (path.name for path in self._folder.iterdir())
        return tuple(name for name in names if name != self.name and not name.startswith("."))

    def gone(self, name: str) -> bool:
        """Whether that worker has certainly ended: it has a file here, on this machine, and its lock is free. Without a
        file, it may be alive with another data folder; then its leases expire by themselves."""
        return self._is_ours(name) and self._is_free(name)

    def _is_ours(self, name: str) -> bool:
        return "/" not in name and name.rsplit(".", 3)[1:2] == [self._machine]

    def _is_free(self, name: str) -> bool:
        return _is_free(self._folder / name)

    def forget(self, name: str) -> None:
        """Everything that this worker left has been cleaned up."""
        (self._folder / name).unlink(missing_ok=True)


def _is_free(file: Path) -> bool:
    """Whether the file exists and its lock is free; files of other accounts are not checked."""
    with suppress(OSError, ValueError), file.open("r+") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


# -- claiming ----------------------------------------------------------------------------------------------------------


log = logging.getLogger(__name__)

_NEWS: Final = (TurnRequested, TurnAttemptFailed, TurnRetried, Settled, AgentSessionsCleared)
LOOK = 100
"""How many waiting turns are read at once to take one of them."""


class Claiming:
    """The turns that a worker may take. All of it blocks: call it from a thread; take turns in one at a time."""

    def __init__(
        self,
        *,
        turns: Turns,
        routing: Routing,
        presence: Peers,
        clock: Callable[[], int],
        lease_ms: int,
        sharing: Sharing | None = None,
    ) -> None:
        self._turns, self._routing, self._presence = turns, routing, presence
        self._clock, self._lease_ms, self._sharing = clock, lease_ms, sharing
        self._scan = TurnScan(turns, limit=LOOK)
        self._recovered = False
        self.stopped = False
        """Whether no more turns are wanted."""

    def next(self) -> Lease | None:
        """A lease on the first turn in the queue that this worker can do."""
        return next(self.take(1), None)

    def take(self, most: int) -> Iterator[Lease]:
        """Leases on the turns that this worker can do, in the order of the queue. If the machine fails, the worker
        ends, too, so these leases need not survive a power cut."""
        now = self._clock()
        if not self._turns.waiting(now):
            return
        looks = 0
        while most > 0 and not self.stopped:
            fitting = (turn.turn_id for turn in self._scan.look(now) if self._routing.place(turn) == "here")
            wanted = list(islice(fitting, most))
            taken = self._turns.take_all(wanted, self._presence.name, now=now, lease_ms=self._lease_ms)
            yield from taken
            looks += 1
            seen_all, most = len(wanted) < most, most - len(taken)
            # A turn that waits for its next attempt is in the part already read: the second look begins there.
            if seen_all and (self._scan.complete or (self._scan.ended and looks > 1 and not taken)):
                return

    def lost(self, leases: Iterable[Lease]) -> list[Lease]:
        """Renew these leases; those that are lost."""
        return [lease for lease in leases if not self._renewed(lease)]

    def _renewed(self, lease: Lease) -> bool:
        try:
            return self._turns.heartbeat(lease, until=self._clock() + self._lease_ms)
        except StoreError:
            log.exception("no heartbeat for %s", lease.turn_id)
            return True

    def take_back(self) -> None:
        """Release the turns of workers that are no longer alive on this machine (such as our previous process), after
        ending everything that they had started."""
        if self._sharing is not None:
            self._sharing.attend()
        if not self._recovered and (count := self._turns.recover()):
            log.warning("the lease table had %d turns in an unknown state: they are in the queue again", count)
        self._recovered = True
        for worker in {*self._turns.workers(), *self._presence.others()} - {self._presence.name}:
            if self._presence.gone(worker):
                if ended := processes.end_orphans(worker):
                    log.warning("ended %d processes that %s had left behind", ended, worker)
                if self._turns.release(worker):
                    self._scan.restart()
                self._presence.forget(worker)

    def leave(self) -> None:
        """Give everything back. No more turns are taken here."""
        with contextlib.suppress(StoreError):
            self._turns.release(self._presence.name)
        if self._sharing is not None:
            self._sharing.leave()
        self._presence.leave()


def news(page: Iterable[Recorded]) -> list[Recorded]:
    """What a worker has to know: turns that begin to wait or have ended, and conversations that are over."""
    return [recorded for recorded in page if isinstance(recorded.event, _NEWS)]


def asks(page: Iterable[Recorded]) -> bool:
    """Whether turns have started to wait."""
    return any(isinstance(recorded.event, TurnRequested | TurnAttemptFailed | TurnRetried) for recorded in page)
