"""The processes of a log: reports regularly that this one is alive, and lists the others."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from adapters.agents.announcement import announcement_of, line_of
from adapters.agents.team import Team
from adapters.store.port import Node, Store
from adapters.turns.lease.presence import announced, present, this_machine
from domain.values.base import HansardError, iso
from projections.views.base import View

_EVERY_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class LiveNode(View):
    name: str
    role: Literal["server", "worker"]
    last_seen: str


@dataclass(frozen=True, slots=True)
class ThisNode:
    """This process, as the others see it."""

    store: Store
    name: str
    role: Literal["server", "worker"]
    workers: Path | None = None
    """Lists the workers of this machine if the store knows no other processes."""
    team: Team | None = None
    """The team whose turns it runs and therefore announces; None if it runs none."""

    @contextlib.asynccontextmanager
    async def attending(self) -> AsyncIterator[None]:
        """Report this process as alive for the duration of the block."""
        task = asyncio.create_task(self._attend())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with contextlib.suppress(HansardError):
                await asyncio.to_thread(self.store.leave, self.name)

    async def _attend(self) -> None:
        while True:
            telling = asyncio.create_task(asyncio.to_thread(self._tell))
            try:
                await asyncio.shield(telling)
            except HansardError as error:
                log.debug("this process could not be registered: %s", error)
            finally:
                await asyncio.gather(telling, return_exceptions=True)  # it never comes after the goodbye
            await asyncio.sleep(_EVERY_SECONDS)

    def _tell(self) -> None:
        """Announces its agents as they are at this moment: a program may have been installed meanwhile."""
        self.store.attend(self.name, self.role, line_of(announcement_of(self.team)) if self.team else "")

    def alive(self) -> tuple[LiveNode, ...]:
        """The live processes. Raises HansardError."""
        nodes = (*self.store.nodes(), *self._workers())
        return tuple(LiveNode(name=node.name, role=node.role, last_seen=iso(node.last_seen)) for node in nodes)

    def others(self) -> tuple[Node, ...]:
        """The live processes besides this one, with what they announce. Raises HansardError."""
        return tuple(node for node in (*self.store.nodes(), *self._workers()) if node.name != self.name)

    def _workers(self) -> tuple[Node, ...]:
        """Those of other processes on this machine that the store does not know."""
        folder, now = self.workers, self.store.clock()
        if folder is None:
            return ()
        names = (name for name in present(folder) if f".{os.getpid()}." not in name)
        return tuple(Node(name, "worker", now, announced(folder, name)) for name in names)


def server_name() -> str:
    """A name for this process that is unique across machines."""
    return f"{os.uname().nodename}.{this_machine()}.{os.getpid()}"
