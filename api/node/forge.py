"""The forge of a session: the settings of the owner, the repository that a remote's address means, and the connection
to it."""

import logging
from pathlib import Path
from typing import NamedTuple

from adapters.forge.port import Forge, ForgeRepository
from adapters.forge.remotes import remote_repository
from adapters.forge.settings import BadForge, ForgeSettings, read_settings
from adapters.forge.token import here
from adapters.pull_requests.claims import PullRequestClaims
from adapters.pull_requests.record import Around
from adapters.store.port import Store
from adapters.turns.result.shared_workspaces import Sharing
from adapters.workspace import Workspaces
from adapters.workspace.remote_branches import has_login, remote_address
from adapters.writer.writer import Writer
from domain.session.forge import ForgeRules
from domain.session.state import Session
from domain.values.base import HansardError, Refused
from domain.values.sentences import Sentence

_log = logging.getLogger(__name__)


class SharedParts(NamedTuple):
    """The parts that the follower shares with the rest of the process."""

    store: Store
    writer: Writer
    folder: Path
    """The folder in which this process keeps its own files."""
    sharing: Sharing | None


class ForgePlace(NamedTuple):
    """The forge of a repository."""

    repository: ForgeRepository
    settings: ForgeSettings

    @property
    def rules(self) -> ForgeRules:
        """The owner's limits."""
        settings = self.settings
        return ForgeRules(
            checks_attempts=settings.checks_attempts,
            quiet_seconds=round(settings.quiet_seconds),
            max_revisions=settings.max_revisions,
            max_cost_micros=settings.max_cost_micros,
        )


def forge_of(file: Path, session: Session) -> ForgePlace:
    """The forge of the session's repository. Raises Refused where there is none, and BadForge for settings that cannot
    be used."""
    repository = session.base.repository if session.base else None
    return forge_at(file, Path(repository) if repository else None)


def forge_at(file: Path, repository: Path | None) -> ForgePlace:
    """The forge of a repository on this machine. Raises Refused where its remote is no forge's."""
    owners = read_settings(file)
    url = _address(repository)
    if url is None:
        raise Refused(Sentence("no_remote"))
    if has_login(url):
        raise Refused(Sentence("remote_has_login"))
    place = remote_repository(url, owners.kind)
    if place is None:
        raise Refused(Sentence("no_forge_at_remote"))
    return ForgePlace(place, owners)


def _address(repository: Path | None) -> str | None:
    if repository is None or not repository.is_dir():
        return None
    try:
        return remote_address(repository)
    except HansardError:
        return None


async def connected(place: ForgePlace, *, at_terminal: bool) -> Forge | None:
    """A connection; None without a token. At a person's terminal, their own login counts."""
    from adapters.forge.connection import connect  # with two dialects, and most servers have no forge

    return await connect(place.repository, place.settings, at_terminal=at_terminal, environment=here())


def around(file: Path, shared: SharedParts, *, at_terminal: bool) -> Around | None:
    """Returns what the follower of pull requests works with; None where the settings in `file` cannot be used."""
    try:
        owners = read_settings(file)
    except BadForge as error:
        _log.warning("pull requests are not followed: %s", error)
        return None
    notes = set[str]()

    def tell(host: str, words: str) -> None:
        """Say once what keeps pull requests of a host from being followed."""
        if words not in notes:
            notes.add(words)
            _log.warning("pull requests at %s are not followed: %s", host, words)

    async def to(repository: ForgeRepository) -> Forge | None:
        try:
            forge = await connected(ForgePlace(repository, owners), at_terminal=at_terminal)
        except BadForge as error:
            tell(repository.host, str(error))
            return None
        if forge is None:
            tell(repository.host, Sentence("no_forge_token", host=repository.host))
        return forge

    folder, log = shared.folder, shared.store
    claims = PullRequestClaims(folder / "pull-requests", log.claims)
    workspaces = Workspaces(folder / "workspaces")
    return Around(shared.writer, log.clock, workspaces, owners, claims, to, shared.sharing)
