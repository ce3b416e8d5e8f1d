"""Trust in what a checkout's `hansard.toml` sets up. It belongs to this machine: no session's command, and no event."""

import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field

from adapters.agents.acp.settings import AcpSettings
from adapters.agents.command.settings import CommandSettings
from adapters.agents.tables import BadTeam
from adapters.agents.team import Member, Team
from adapters.agents.team import load as load_team
from adapters.project import Project
from api.actions.bodies import Body
from api.actions.declaration import ActionCall, action
from api.actions.projects import read_project, root_of, trust_of, within_roots
from api.actions.rights import may_name_workspace
from api.node.settings import Settings
from domain.session.services import Service
from domain.values.base import Invalid, Refused
from domain.values.network import CommandNetwork, Network
from domain.values.sentences import Sentence, sentence_of
from projections.views.base import View


class TrustProject(Body):
    """Trust what `hansard.toml` of a checkout sets up, as it is now."""

    workspace: Annotated[str, Field(min_length=1, max_length=4_096, pattern=r"^/[^\x00]*$")] = Field(
        description="absolute path of the checkout"
    )
    preview: bool = Field(default=False, description="whether these settings are only shown, and nothing is trusted")
    digest: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="of the settings that were shown: others are refused"
    )


class TeamMemberSettings(View):
    """What an agent of a team file in the checkout runs, and what it may reach."""

    name: str
    adapter: str
    argv: tuple[str, ...] = Field(description="empty for an agent that is no program here")
    home: str | None = Field(description="`user`: it has your home folder, with its logins")
    network: Network | None
    services: bool = Field(default=False, description="whether the services of the repository run beside it")


class TrustedService(View):
    """A program that runs beside the commands of the workspace."""

    name: str
    command: str
    ready: str | None = Field(description="the command that succeeds once the service can be used")
    env: dict[str, str]
    seconds: float = Field(description="how long it may take to be ready")


class TrustedSettings(View):
    """What is trusted of a checkout's `hansard.toml` from now on, or would be."""

    workspace: str = Field(description="the top of the checkout")
    digest: str | None = Field(description="digest of these settings; null if there is nothing to trust")
    setup: tuple[str, ...]
    env: dict[str, str]
    network: CommandNetwork = Field(description="of the validation")
    setup_network: CommandNetwork = Field(description="of the set-up")
    services: tuple[TrustedService, ...] = Field(description="programs that run beside set-up and validation")
    ports: tuple[str, ...] = Field(description="variables that hold numbers of ports")
    filters: bool = Field(description="whether the person's git filters run, so that agents see what a checkout shows")
    clean_room: bool = Field(description="whether a validation has to pass in a fresh checkout, too")
    copy_paths: tuple[str, ...] = Field(alias="copy", description="ignored files that agents get a copy of")
    link: tuple[str, ...] = Field(description="ignored folders that agents see")
    files: dict[str, str] = Field(description="files of the checkout that these settings run, with their SHA-256")
    team: str | None
    agents: tuple[TeamMemberSettings, ...] = Field(description="of the team file")
    sandbox: str | None = Field(description="the fence that the team file asks for")
    notify: tuple[str, ...] = Field(description="the command of the team file that tells you of sessions")
    trusted: bool = Field(description="whether they take effect")


@action(
    "/api/trust",
    scope="decide",
    body=TrustProject,
    answer=TrustedSettings,
    summary="Trust the settings of a repository",
    description="The set-up, environment, networks, filters, copies, links and team in its `hansard.toml` take effect "
    "from now on. Changes need to be trusted again, those of files that they run, too. With `preview` they are only "
    "shown; with the `digest` of what was shown, nothing else is trusted (409).",
    example={"workspace": "/home/ann/shop"},
)
async def trust_project(call: ActionCall[TrustProject]) -> TrustedSettings:
    """Trust the settings of a checkout as they are now."""
    folder, settings = Path(call.body.workspace), call.system.settings
    may_name_workspace(call, call.body.workspace)
    within_roots(folder, settings)
    if call.body.preview:
        return await asyncio.to_thread(preview, folder, settings)
    return await asyncio.to_thread(grant, folder, settings, by="http", digest=call.body.digest)


def preview(folder: Path, settings: Settings) -> TrustedSettings:
    """The settings of a checkout as they are now. Raises Invalid, OSError."""
    project, root = _read(folder)
    return _settings_of(project, root, trusted=trust_of(settings).covers(root, project))


def grant(folder: Path, settings: Settings, *, by: str, digest: str | None = None) -> TrustedSettings:
    """Trust the settings of a checkout as they are now, and return them; if a digest is given, only those. Raises
    Invalid, Refused, OSError."""
    project, root = _read(folder)
    if digest is not None and digest != project.digest:
        raise Refused(Sentence("settings_changed_since"), allowed=())
    trust_of(settings).grant(root, project, by=by)
    return _settings_of(project, root, trusted=True)


def _read(folder: Path) -> tuple[Project, Path]:
    if not folder.is_dir():
        raise Invalid({"/workspace": Sentence("folder_missing")})
    return read_project(folder), root_of(folder)


def _settings_of(project: Project, root: Path, *, trusted: bool) -> TrustedSettings:
    workspace, team = project.workspace, _team_of(project, root)
    return TrustedSettings(
        workspace=str(root),
        digest=project.digest,
        setup=tuple(step.command for step in project.setup_steps()),
        env=dict(workspace.env),
        network=project.validation.network,
        setup_network=workspace.network,
        services=tuple(map(_service, project.services())),
        ports=workspace.ports,
        filters=workspace.filters,
        clean_room=project.validation.clean_room,
        copy_paths=workspace.copy_paths,
        link=workspace.link,
        files=dict(project.files),
        team=project.delivery.team,
        agents=tuple(map(_member, team.agents)) if team else (),
        sandbox=team.sandbox if team else None,
        notify=(team.notify.command or ()) if team and team.notify else (),
        trusted=trusted,
    )


def _service(service: Service) -> TrustedService:
    return TrustedService(
        name=service.name,
        command=service.command.command,
        ready=service.ready.command if service.ready else None,
        env=service.env,
        seconds=service.seconds,
    )


def _team_of(project: Project, root: Path) -> Team | None:
    """The team that the settings name. Raises Invalid where its file cannot be read."""
    path = project.team_file(root)
    try:
        return load_team(path) if path else None
    except BadTeam as error:
        raise Invalid({"/workspace": sentence_of(error)}) from None


def _member(member: Member) -> TeamMemberSettings:
    settings = member.settings
    if not isinstance(settings, CommandSettings | AcpSettings):
        return TeamMemberSettings(name=member.name, adapter=member.adapter, argv=(), home=None, network=None)
    return TeamMemberSettings(
        name=member.name,
        adapter=member.adapter,
        argv=settings.argv,
        home=settings.home,
        network=settings.network,
        services=settings.services,
    )
