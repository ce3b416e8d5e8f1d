"""The surroundings of the places where the commands of one turn run: their networks, ports and services."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from adapters.agents.activity import Activity
from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.refusals import Refusals
from adapters.fence.port import Grant
from adapters.fence.toolchains import link_into
from adapters.services.site import ProgramStart, ServiceRun, Site, open_site
from domain.delivery.validation import Preparation
from domain.session.validation import SetupCommand


class Sites:
    """The surroundings of the places of one turn, by their folders."""

    def __init__(self) -> None:
        self._sites: dict[Path, Site] = {}
        self._ended: list[ServiceRun] = []

    async def at(self, folder: Path, preparation: Preparation, *, fenced: bool, refusals: Refusals) -> Site | None:
        """The surroundings of a place; None where nothing asks for any."""
        if not preparation.has_own_network:
            return None
        if folder not in self._sites:
            services, ports = preparation.services, preparation.ports
            site = await asyncio.to_thread(open_site, services, ports, fenced=fenced, refusals=refusals)
            if site.loopback is None:  # services of two places would want the same ports of the machine
                for other in self._sites.values():
                    await other.stop()
            self._sites[folder] = site
        return self._sites[folder]

    def there(self, folder: Path) -> Site | None:
        """The surroundings that a place has."""
        return self._sites.get(folder)

    async def leave(self, folder: Path) -> None:
        """Close the surroundings of a place."""
        site = self._sites.pop(folder, None)
        if site is not None:
            await site.close()
            self._ended += site.ended

    async def close(self) -> tuple[ServiceRun, ...]:
        """Close all of them. Returns the services that ran."""
        try:
            for folder in list(self._sites):
                await self.leave(folder)
        finally:
            for folder in list(self._sites):  # cancelled meanwhile
                await self.leave(folder)
        ended, self._ended = tuple(self._ended), []
        return ended


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


def in_site(site: Site | None, grant: Grant, network: Literal["none", "all"] | Allowed) -> Grant:
    """The grant of a program that may reach these hosts, in the surroundings of its place."""
    granted = replace(grant, network=network)
    return granted if site is None else site.around(granted)
