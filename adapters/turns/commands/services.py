"""The services of a place where the commands of one turn run."""

from collections.abc import Callable
from pathlib import Path

from adapters.agents.activity import Activity
from adapters.fence.toolchains import link_into
from adapters.services.site import ProgramStart, Site
from domain.session.validation import SetupCommand


class PlaceServices:
    """The services of one place. `store` is where their folders are as the set-up has left them."""

    def __init__(
        self, site: Site | None, around: ProgramStart, home: Path, observe: Callable[[Activity], None], store: Path
    ) -> None:
        self._site, self._around, self._store = site, around, store
        self._home, self._observe = home, observe
        self.failed: tuple[SetupCommand, ...] = ()
        """The service that did not get ready."""

    async def start(self, *, fresh: bool = False) -> bool:
        """Start them as the set-up has left them, or `fresh`. True if all are ready."""
        site = self._site
        if site is None or not site.services or site.started:
            return True
        self._home.mkdir(parents=True, exist_ok=True)
        link_into(self._home)
        for service in site.services:
            self._observe(Activity(kind="notice", text=f"service {service.name}: $ {service.command.command}"))
        failed = await site.start(self._around, None if fresh else self._store)
        self.failed = () if failed is None else (failed,)
        return failed is None

    async def stop(self) -> None:
        """End them."""
        if self._site is not None:
            await self._site.stop()

    async def keep(self, *, go_on: bool) -> bool:
        """Keep what their folders hold now, for each later start: they end for that, and begin again if they are to
        `go_on`. True if all that are needed are ready."""
        if self._site is None or not self._site.services:
            return True
        await self._site.stop(keep=self._store)
        return await self.start() if go_on else True
