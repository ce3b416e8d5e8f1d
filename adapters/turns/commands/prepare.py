"""Prepares the folders in which commands run: copies, links, set-up, environment (contract-2 §8), and fresh checkouts
where nothing is that a clone would not have (contract-3 §17)."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple

from adapters.agents.activity import Activity
from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.upstream import upstream_of
from adapters.fence.toolchains import is_linked
from adapters.files import is_empty
from adapters.services.site import ServiceRun
from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.run import SETUP, CommandPlace, ValidationSettings, output_of, run_step
from adapters.turns.commands.services import PlaceServices
from adapters.turns.commands.sites import Sites, in_site
from adapters.turns.folder import checkout, pristine, workspace_of
from adapters.turns.job import Job
from adapters.workspace import Lasting, Workspace, Workspaces
from adapters.workspace.copies import copy_folder
from adapters.workspace.folders import delete
from adapters.workspace.git import identity_of
from adapters.workspace.leftovers import tidy_home, trust_home
from domain.session.validation import DID_NOT_EXIT, SetupCommand, ValidationStep
from domain.values.network import CommandNetwork, entries
from domain.values.sentences import Sentence

_TAIL = 2_000
_NAMED: Final = 1_000
"""The largest number of files in a copied folder that are listed one by one, to tell them from those of agents."""
FRESH: Final = 9_000_000
"""The slots of fresh checkouts begin here."""
_MOST_FRESH: Final = 10
"""The fresh checkouts that one turn may have at once."""
_CACHES: Final = (
    *(".cache", "Library/Caches", ".npm/_cacache", ".yarn/berry/cache", ".local/share/pnpm/store", ".pnpm-store"),
    *(".bun/install/cache", ".cargo/registry", ".cargo/git", "go/pkg/mod", ".m2/repository", ".gradle/caches"),
    *(".gradle/wrapper/dists", ".ivy2/cache", ".sbt/boot", ".nuget/packages", ".composer/cache"),
    *(".local/share/NuGet/http-cache", ".bundle/cache", ".pub-cache/hosted", ".hex/packages", ".cabal/packages"),
    *(".opam/download-cache", ".conan2/p", ".conda/pkgs"),
)
"""The folders of a home in which tools keep what they have loaded. All else that a set-up has put there may have been
made from the base tree, and a set-up that finds it may leave it alone, as `pipx install .` does, or one that builds in
`~/built`."""
_INSTALLED: Final = (".cache/pypoetry/virtualenvs",)
"""Folders that are no cache, though they lie among them."""


class Ready(NamedTuple):
    """A place for commands, and the set-up commands that ran there just now."""

    place: CommandPlace
    setup: tuple[SetupCommand, ...]
    as_in_clone: bool = False
    """Nothing is there that a fresh checkout would not have."""

    @property
    def passed(self) -> bool:
        return all(command.passed for command in self.setup)


@dataclass(frozen=True, slots=True)
class CommandPlaces:
    """The places where the commands of one turn run. `home` is the home of the session's commands."""

    job: Job
    workspaces: Workspaces
    home: Path
    fencing: Fencing
    settings: ValidationSettings
    observe: Callable[[Activity], None]
    sites: Sites = field(default_factory=Sites)
    """The surroundings of the places of this turn."""
    serves: bool = True
    """True if services run beside what comes after the set-up."""

    async def close(self) -> tuple[ServiceRun, ...]:
        """End the services of all places. Returns those that ran."""
        return await self.sites.close()

    async def ready(self) -> Ready:
        """The job's folder in the recorded state, prepared if it is new."""
        folder = await asyncio.to_thread(checkout, self.job, self.workspaces)
        return await self._prepared(folder, await self.workspace(), self.home)

    async def tidied(self, tree: str | None = None) -> Ready:
        """The same, in the recorded state or in that of `tree`, after removing what agents, or the code that they
        wrote, have left in the folder or in the home. Without a preparation nothing is left that a clone would not
        have, and modes and times are those of a fresh checkout."""
        workspace = await self.workspace()
        as_in_clone = workspace.in_place is None and not self.job.preparation.needs_work
        ours = partial(pristine, self.job, self.workspaces, tree, as_in_clone=as_in_clone)
        folder = await asyncio.to_thread(ours)
        mark = _mark_of_home(workspace)
        if not self.job.preparation.setup:
            await asyncio.to_thread(_forget_home, mark, self.home)
        elif not await asyncio.to_thread(tidy_home, mark, self.home):
            workspace.unready(folder)
        ready = await self._prepared(folder, workspace, self.home)
        if self.job.preparation.setup:
            await asyncio.to_thread(trust_home, mark, self.home)
        return ready._replace(as_in_clone=as_in_clone)

    @asynccontextmanager
    async def fresh(self, tree: str | None, number: int = 0) -> AsyncIterator[Ready]:
        """A fresh checkout of the recorded state or of `tree`, prepared like a new workspace, with a home that holds
        what the set-up left on the base tree. Both are deleted afterwards. `number` tells those apart that one turn has
        at the same time."""
        workspace = await self.workspace()
        slot = FRESH + self.job.folder * _MOST_FRESH + number
        home = workspace.home / f"home-{slot}"
        folder = await asyncio.to_thread(workspace.fresh, tree=tree or self.job.session.tree, slot=slot)
        try:
            await asyncio.to_thread(_new_home, _caches_of(workspace), home)
            yield await self._prepared(folder, workspace, home, lasting=False)
        finally:
            await self.sites.leave(folder)
            await asyncio.to_thread(delete, _kept_services(workspace, folder))
            await asyncio.to_thread(workspace.discard, folder)
            await asyncio.to_thread(delete, home)

    @asynccontextmanager
    async def repeats(self, tree: str | None, number: int) -> AsyncIterator["RepeatedPlace"]:
        """A fresh checkout of that state for several runs, each of which begins with what the set-up has left. The
        set-up runs once."""
        async with self.fresh(tree, number) as ready:
            place = RepeatedPlace(ready, self._services_of(ready.place, await self.workspace()))
            try:
                yield place
            finally:
                await asyncio.to_thread(place.delete)

    async def set_up_again(self, place: CommandPlace) -> None:
        """Have the set-up run again in the session's folder before it is used next."""
        (await self.workspace()).unready(place.folder)

    async def serve(self, place: CommandPlace) -> None:
        """Start the services of a place again, if they had to make room for those of another one."""
        if self.sites.there(place.folder) is not None:
            await self._services_of(place, await self.workspace()).start()

    async def workspace(self) -> Workspace:
        """The session's workspace."""
        return await asyncio.to_thread(workspace_of, self.job, self.workspaces)

    async def has_leftovers(self, place: CommandPlace) -> bool:
        """True if the folder or the home, tidied, hold a file that a clone would not have."""
        workspace = await self.workspace()
        if workspace.in_place is not None:
            return True
        return await asyncio.to_thread(lambda: workspace.has_leftovers(place.folder) or _has_file(place.home))

    async def keep_caches(self) -> None:
        """Keep what the set-up has left in the home on the base tree; each fresh checkout gets a copy."""
        workspace = await self.workspace()
        if self.job.preparation.setup and workspace.in_place is None:
            await asyncio.to_thread(_keep, self.home, _caches_of(workspace))

    async def trust(self, place: CommandPlace) -> None:
        """Trust what the commands of the baseline have made in the folder and in the home, so that a set-up does not
        have to run again because of it."""
        if self.job.preparation.setup:
            await asyncio.to_thread(_trust, await self.workspace(), place)

    async def _prepared(self, folder: Path, workspace: Workspace, home: Path, *, lasting: bool = True) -> Ready:
        preparation, top = self.job.preparation, workspace.tree_of(folder)
        if preparation.needs_work and not workspace.is_ready(folder):
            shown = _link if self.fencing.links else _copy
            await asyncio.to_thread(_copy, workspace, folder, preparation.copy_paths)
            await asyncio.to_thread(shown, workspace, folder, preparation.link)
        site = await self.sites.at(
            folder, preparation, fenced=self.fencing.level == "bwrap", refusals=self.job.refusals
        )
        granted = self.fencing.grant(workspace, folder, preparation.link)
        place = CommandPlace(
            folder=folder,
            top=top,
            home=home,
            env={**environment(self.job, workspace, top, identity=identity_of()), **(site.env if site else {})},
            fencing=self.fencing,
            grant=in_site(site, granted, self._network(preparation.network)),
            observe=self.observe,
            checkout=None if workspace.in_place else workspace.source,
            limits=self.settings.command_limits,
        )
        is_new = preparation.needs_work and not workspace.is_ready(folder)
        services = self._services_of(place, workspace)
        needed = self.serves or (is_new and bool(preparation.setup))
        if needed and not await services.start(fresh=is_new):
            return Ready(place, services.failed)
        if not is_new:
            return Ready(place, ())
        reach = in_site(site, granted, self._network(preparation.setup_network))
        setup = await self._set_up(replace(place, folder=top, grant=reach))
        passed = all(command.passed for command in setup)
        if passed and preparation.setup and not await services.keep(go_on=self.serves):
            return Ready(place, (*setup, *services.failed))
        ready = Ready(place, setup)
        if ready.passed and lasting:
            await asyncio.to_thread(workspace.mark_ready, folder)
        return ready

    def _services_of(self, place: CommandPlace, workspace: Workspace) -> PlaceServices:
        store = _kept_services(workspace, place.folder)
        return PlaceServices(self.sites.there(place.folder), place.around(place.top), place.home, place.observe, store)

    def _network(self, named: CommandNetwork) -> Literal["none", "all"] | Allowed:
        """Returns what commands may reach; what they are refused is kept for the turn."""
        if isinstance(named, str):
            return named
        return Allowed(entries(named), upstream_of(), self.job.refusals)

    async def _set_up(self, place: CommandPlace) -> tuple[SetupCommand, ...]:
        """Run the set-up, up to the first command that fails."""
        ran: list[SetupCommand] = []
        limit = self.settings.setup_timeout
        until = time.monotonic() + limit
        for step in self.job.preparation.setup:
            seconds = max(0.001, until - time.monotonic())
            finished = await run_step(step, place, self.settings, seconds=seconds, anything=True, title=SETUP)
            passed = finished.ended == "exit" and finished.exit_code == 0
            output = finished.detail if finished.ended == "not_started" else output_of(finished)
            if finished.ended == "timeout":
                output += f"\nThe set-up was stopped at its limit, {limit:g} s (HANSARD_SETUP_SECONDS)."
            ran.append(
                SetupCommand(
                    command=step.command,
                    exit_code=DID_NOT_EXIT if finished.exit_code is None else finished.exit_code,
                    passed=passed,
                    seconds=round(finished.seconds, 3),
                    tail="" if passed else output.strip()[-_TAIL:],
                )
            )
            if not passed:
                break
        return tuple(ran)


class RepeatedPlace:
    """A place for commands that is as after its set-up each time."""

    def __init__(self, ready: Ready, services: PlaceServices) -> None:
        self._ready, self._services = ready, services
        self._kept = [
            (folder, folder.with_name(f"kept-{folder.name}")) for folder in (ready.place.top, ready.place.home)
        ]
        self._used = False

    @property
    def passed(self) -> bool:
        """True if the set-up passed there."""
        return self._ready.passed

    async def renewed(self) -> CommandPlace | None:
        """Return the place without anything that an earlier run has left; None if its services do not start again."""
        await self._services.stop()
        place = await asyncio.to_thread(self._renew)
        return place if await self._services.start() else None

    def _renew(self) -> CommandPlace:
        for folder, spare in self._kept:
            if not self._used:
                delete(spare)
                copy_folder(folder, spare)
            else:
                delete(folder)
                copy_folder(spare, folder)
        self._used = True
        return self._ready.place

    def delete(self) -> None:
        """Delete what was kept for the next run."""
        for _, spare in self._kept:
            delete(spare)


def left_to_do(job: Job, workspaces: Workspaces, folder: Path) -> tuple[dict[str, str], list[list[str]]]:
    """For an agent that is asked elsewhere: the variables for its programs, and the set-up commands that have not run
    in this folder."""
    workspace = workspace_of(job, workspaces)
    if workspace.is_ready(folder):  # nothing is shown to a program that Hansard does not start
        _copy(workspace, folder, job.preparation.link)
    waiting: tuple[ValidationStep, ...] = () if workspace.is_ready(folder) else job.preparation.setup
    env = environment(job, workspace, workspace.tree_of(folder), identity=identity_of(job.turn.agent))
    return env, [list(step.argv) for step in waiting]


# -- homes -------------------------------------------------------------------------------------------------------------


def _mark_of_home(workspace: Workspace) -> Path:
    return workspace.home / "ready-home"


def _caches_of(workspace: Workspace) -> Path:
    """The folder of what the set-up left in the home on the base tree. No program ever sees this folder, only copies
    of it.
    """
    return workspace.home / "caches"


def _kept_services(workspace: Workspace, folder: Path) -> Path:
    """The folder in which a place keeps what its services have after the set-up."""
    return workspace.home / f"services-{workspace.tree_of(folder).name}"


def _trust(workspace: Workspace, place: CommandPlace) -> None:
    workspace.trust(place.folder)
    mark = _mark_of_home(workspace)
    mark.unlink(missing_ok=True)
    trust_home(mark, place.home)


def _forget_home(mark: Path, home: Path) -> None:
    mark.unlink(missing_ok=True)
    delete(home)


def _new_home(caches: Path, home: Path) -> None:
    delete(home)
    if caches.is_dir():
        copy_folder(caches, home)
    else:
        home.mkdir(parents=True)


def _keep(home: Path, caches: Path) -> None:
    draft = caches.with_name("caches.new")
    delete(draft)
    delete(caches)
    if home.is_dir():
        draft.mkdir(parents=True)
        for path in _CACHES:
            if (home / path).is_dir() and (home / path).resolve() == home.resolve() / path:
                copy_folder(home / path, draft / path, without={home / each for each in _INSTALLED})
        draft.rename(caches)


def _has_file(home: Path) -> bool:
    """True if anything but folders is below, and links to what tools read from every home."""
    return any((path.is_symlink() or not path.is_dir()) and not is_linked(path) for path in home.rglob("*"))


# -- paths -------------------------------------------------------------------------------------------------------------


def environment(job: Job, workspace: Workspace, top: Path, *, identity: Mapping[str, str]) -> dict[str, str]:
    """The variables of the repository's settings, and those that make the workspace take precedence. Parts that begin
    with `./` are paths in the workspace. Unless the settings say otherwise, git finds the `identity` of who commits to
    a new repository, and the person's name for its first branch."""
    env = {**job.preparation.env, **job.workspace_env}
    env = {name: ":".join(_absolute(part, top) for part in value.split(":")) for name, value in env.items()}
    settings = workspace.git_settings
    return {**identity, **({"GIT_CONFIG_SYSTEM": str(settings)} if settings else {}), **env}


def _absolute(part: str, top: Path) -> str:
    return str(top / part[2:]) if part.startswith("./") else part


def relative(value: str, top: Path) -> str:
    """The opposite of `environment`: a later folder of the same session is another one."""
    parts = (Path(part) for part in value.split(":"))
    return ":".join(f"./{part.relative_to(top)}" if part.is_relative_to(top) else str(part) for part in parts)


def _copy(workspace: Workspace, folder: Path, names: Iterable[str]) -> None:
    """Copy ignored files and folders of the checkout, which are never recorded. Raises Lasting for one that leads
    outside."""
    places = list(_places(workspace, folder, names))
    workspace.withhold(list(_put(places, workspace.tree_of(folder))))
    for origin, target in places:
        target.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(origin, target)


def _put(places: Iterable[tuple[Path, Path]], top: Path) -> Iterator[str]:
    """The paths from the top of the files that are going to be copied; of a large folder only the folder's."""
    for origin, target in places:
        name = target.relative_to(top)
        files = [path for path in origin.rglob("*") if path.is_symlink() or not path.is_dir()]
        if origin.is_dir() and len(files) <= _NAMED:
            yield from (str(name / path.relative_to(origin)) for path in files)
        else:
            yield str(name)


def _link(workspace: Workspace, folder: Path, names: Iterable[str]) -> None:
    """Make the places where folders of the checkout are shown; copy what is no folder."""
    for name in names:
        for origin, target in _places(workspace, folder, (name,)):
            if origin.is_dir():
                workspace.withhold([name])
                target.mkdir(parents=True, exist_ok=True)
            else:
                _copy(workspace, folder, (name,))


def _places(workspace: Workspace, folder: Path, names: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """The files that the checkout has of these, each with its free place in the workspace. Raises Lasting."""
    source, top = workspace.source, workspace.tree_of(folder)
    if source is None or source.resolve() == top.resolve():
        return
    for name in names:
        origin, target = source / name, top / name
        if not origin.exists():
            continue
        if not origin.resolve().is_relative_to(source.resolve()) or not target.parent.resolve().is_relative_to(top):
            raise Lasting(Sentence("copy_leads_outside", path=name))
        if is_empty(target) or not (target.exists() or target.is_symlink()):
            yield origin, target
