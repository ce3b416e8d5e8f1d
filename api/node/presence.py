"""The processes of a log: reports regularly that this one is alive, and lists the others."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from adapters.store.port import Node, Store
from adapters.turns.lease.presence import present, this_machine
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
            telling = asyncio.create_task(asyncio.to_thread(self.store.attend, self.name, self.role))
            try:
                await asyncio.shield(telling)
            except HansardError as error:
                log.debug("this process could not be registered: %s", error)
            finally:
                await asyncio.gather(telling, return_exceptions=True)  # it never comes after the goodbye
            await asyncio.sleep(_EVERY_SECONDS)

    def alive(self) -> tuple[LiveNode, ...]:
        """The live processes. Raises HansardError."""
        others = () if self.workers is None else present(self.workers)
        now = self.store.clock()
        workers = [Node(name, "worker", now) for name in others if f".{os.getpid()}." not in name]
        nodes = [*self.store.nodes(), *workers]
        return tuple(LiveNode(name=node.name, role=node.role, last_seen=iso(node.last_seen)) for node in nodes)


def server_name() -> str:
    """A name for this process that is unique across machines."""
    return f"{os.uname().nodename}.{this_machine()}.{os.getpid()}"
