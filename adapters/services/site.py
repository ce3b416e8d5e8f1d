"""The common ground of the programs of one workspace: their network, their ports, and the services that run there."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.gateway import SharedWatch
from adapters.fence.network.loopback import Loopback, can_be_made, made
from adapters.fence.network.refusals import Refusals
from adapters.fence.network.upstream import upstream_of
from adapters.fence.port import Fence, Grant
from adapters.processes.limits import SystemLimits
from adapters.processes.program import regardless
from adapters.processes.start import why_not
from adapters.services.claims import Possession, delete, free_ports, note_leader, own_folder
from adapters.services.service_process import ServiceProcess, exit_code_of
from adapters.workspace.copies import copy_folder
from adapters.workspace.folders import delete as delete_kept
from domain.session.services import FIRST_PORT, Service
from domain.session.validation import SetupCommand

_TAIL: Final = 2_000
_NOT_STARTED: Final = 127
"""The exit code that shells give for a program that they cannot start."""


@dataclass(frozen=True, slots=True)
class ProgramStart:
    """The start of a workspace's programs at its site: their folder, their variables but `TMPDIR`, the fence with
    further writable folders, and their limits."""

    cwd: Path
    env: Mapping[str, str]
    fence: Callable[[Path], Fence]
    limits: SystemLimits


@dataclass(frozen=True, slots=True)
class ServiceRun:
    """A service that has ended, for the report."""

    service: Service
    ready: bool
    seconds: float
    exit_code: int
    output: str
    left_out: int
    detail: str = ""

    def shown(self) -> dict[str, Any]:
        """The service in the report."""
        return {
            "name": self.service.name,
            "command": self.service.command.command,
            "ready": self.ready,
            "seconds": round(self.seconds, 3),
            "exitCode": self.exit_code,
            "detail": self.detail,
            "output": self.output,
            "leftOut": self.left_out,
        }


@dataclass(slots=True)
class Site:
    """The surroundings of one workspace while a turn lasts. Close it."""

    loopback: Loopback | None
    ports: Mapping[str, int]
    services: Sequence[Service] = ()
    claims: list[Possession] = field(default_factory=list)
    watch: SharedWatch | None = None
    ended: list[ServiceRun] = field(default_factory=list)
    _running: list[tuple[ServiceProcess, Path, Possession]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """The variables with the ports."""
        return {name: str(port) for name, port in self.ports.items()}

    @property
    def started(self) -> bool:
        """Returns whether its services run."""
        return bool(self._running)

    def around(self, grant: Grant, *, services: bool = True) -> Grant:
        """The grant of a program that runs here. One that needs no `services` does not need the machine's loopback."""
        if self.loopback is None:
            if not (services and self.services):
                return grant
            return replace(grant, loopback="machine", ports=tuple(self.ports.values()))
        network = grant.network
        opened = Allowed((), upstream_of(), everything=True) if network == "all" else network
        return replace(grant, loopback=self.loopback, network=opened)

    async def start(self, around: ProgramStart, store: Path | None = None) -> SetupCommand | None:
        """Start the services, each once those before it are ready, with what `store` has of their folders. Returns the
        one that did not get ready, if any; then none is left running."""
        for service in self.services:
            failed = await self._start(service, around, store)
            if failed is not None:
                await self.stop()
                return failed
        return None

    async def _start(self, service: Service, around: ProgramStart, store: Path | None) -> SetupCommand | None:
        folder, claim = await asyncio.to_thread(_folder_for, service, store)
        try:
            running = ServiceProcess(
                service,
                cwd=around.cwd,
                env={**around.env, **_env_of(service, around.cwd), "TMPDIR": str(folder / "tmp")},
                fence=around.fence(folder / "tmp"),
                limits=around.limits,
            )
        except (OSError, ValueError) as error:
            await asyncio.to_thread(delete, folder, claim)
            detail = str(why_not(service.command.argv, around.cwd, error))
            self.ended.append(ServiceRun(service, False, 0.0, _NOT_STARTED, "", 0, detail))
            return _failed(service, _NOT_STARTED, 0.0, detail)
        self._running.append((running, folder, claim))
        note_leader(claim, running.pid)
        if await running.wait_until_ready():
            return None
        seconds = running.seconds
        ended = await self._end(running, folder, claim)
        return _failed(service, ended.exit_code, seconds, ended.detail or ended.output)

    async def _end(
        self, running: ServiceProcess, folder: Path, claim: Possession, keep: Path | None = None
    ) -> ServiceRun:
        """End one, keep what its folder then holds, and note what it said."""
        gone = running.gone
        finished = await running.end()
        if keep is not None:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(copy_folder, folder / "tmp", keep / running.service.name)
        await asyncio.to_thread(delete, folder, claim)
        self._running = [each for each in self._running if each[0] is not running]
        output = "\n".join(filter(None, (finished.stdout, finished.stderr)))
        ready, code, detail = running.ready_after is not None, exit_code_of(finished, gone=gone), ""
        if finished.ended == "not_started":
            code, detail = _NOT_STARTED, str(finished.detail)
        self.ended.append(ServiceRun(running.service, ready, finished.seconds, code, output, finished.left_out, detail))
        return self.ended[-1]

    async def stop(self, keep: Path | None = None) -> None:
        """End the services, those that were started last first. What their folders hold is kept in `keep`."""
        await regardless(asyncio.ensure_future(self._stop(keep)))

    async def _stop(self, keep: Path | None) -> None:
        if keep is not None:
            await asyncio.to_thread(delete_kept, keep)
        for running, folder, claim in reversed(list(self._running)):
            await self._end(running, folder, claim, keep)

    async def close(self) -> None:
        """End what runs and let go of network and ports."""
        try:
            await self.stop()
        finally:
            if self.watch is not None:
                self.watch.close()
            if self.loopback is not None:
                self.loopback.close()
            for claim in self.claims:
                claim.close()
            self.claims.clear()


def open_site(services: Sequence[Service], ports: Sequence[str], *, fenced: bool, refusals: Refusals) -> Site:
    """The surroundings of a workspace. Blocks. Raises OSError. `fenced`: its programs run under bubblewrap, so that
    they can have a network of their own, in which the ports are the same everywhere. What tries to leave that is noted
    in `refusals`."""
    if fenced and can_be_made():
        loopback, numbers = made(), {name: FIRST_PORT + place for place, name in enumerate(ports)}
        return Site(loopback, numbers, services, watch=SharedWatch(loopback, refusals))
    numbers, claims = free_ports(ports)
    return Site(None, numbers, services, claims)


def _env_of(service: Service, top: Path) -> dict[str, str]:
    """Its own variables; parts that begin with `./` are paths in the workspace."""
    return {
        name: ":".join(str(top / part[2:]) if part.startswith("./") else part for part in value.split(":"))
        for name, value in service.env.items()
    }


def _folder_for(service: Service, store: Path | None) -> tuple[Path, Possession]:
    """A folder for the service, with what is kept of its last one."""
    folder, claim = own_folder()
    place = None if store is None else store / service.name
    if place is not None and place.is_dir():
        copy_folder(place, folder / "tmp")
    else:
        (folder / "tmp").mkdir(mode=0o700)
    return folder, claim


def _failed(service: Service, exit_code: int, seconds: float, output: str) -> SetupCommand:
    return SetupCommand(
        command=service.command.command,
        service=service.name,
        exit_code=exit_code,
        passed=False,
        seconds=round(seconds, 3),
        tail=output.strip()[-_TAIL:],
    )
