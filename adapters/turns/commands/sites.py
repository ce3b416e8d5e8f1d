"""The surroundings of the places where the commands of one turn run: their networks and ports."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Literal

from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.refusals import Refusals
from adapters.fence.port import Grant
from adapters.services.site import ServiceRun, Site, open_site
from domain.delivery.validation import Preparation


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


def in_site(site: Site | None, grant: Grant, network: Literal["none", "all"] | Allowed) -> Grant:
    """The grant of a program that may reach these hosts, in the surroundings of its place."""
    granted = replace(grant, network=network)
    return granted if site is None else site.around(granted)
