"""Trust in what a checkout's `hansard.toml` sets up. It belongs to this machine: no session's command, and no event."""

import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field

from api.actions.bodies import Body
from api.actions.call import ActionCall
from api.actions.declaration import action
from api.actions.projects import read_project, root_of, trust_of, within_roots
from api.actions.rights import may_name_workspace
from api.node.settings import Settings
from domain.values.base import Invalid
from domain.values.network import CommandNetwork
from domain.values.sentences import Sentence
from projections.views.base import View


class TrustProject(Body):
    """Trust what `hansard.toml` of a checkout sets up, as it is now."""

    workspace: Annotated[str, Field(min_length=1, max_length=4_096, pattern=r"^/[^\x00]*$")] = Field(
        description="absolute path of the checkout"
    )


class TrustedSettings(View):
    """What is trusted of a checkout's `hansard.toml` from now on."""

    workspace: str = Field(description="the top of the checkout")
    digest: str | None = Field(description="digest of these settings; null if there is nothing to trust")
    setup: tuple[str, ...]
    env: dict[str, str]
    network: CommandNetwork = Field(description="of the validation")
    setup_network: CommandNetwork = Field(description="of the set-up")
    filters: bool = Field(description="whether the person's git filters run, so that agents see what a checkout shows")
    team: str | None


@action(
    "/api/trust",
    scope="decide",
    body=TrustProject,
    answer=TrustedSettings,
    summary="Trust the settings of a repository",
    description="The set-up, environment, network, filters and team in its `hansard.toml` take effect from now on. "
    "Changes need to be trusted again.",
    example={"workspace": "/home/ann/shop"},
)
async def trust_project(call: ActionCall[TrustProject]) -> TrustedSettings:
    """Trust the settings of a checkout as they are now."""
    folder, settings = Path(call.body.workspace), call.system.settings
    may_name_workspace(call, call.body.workspace)
    within_roots(folder, settings)
    return await asyncio.to_thread(grant, folder, settings, by="http")


def grant(folder: Path, settings: Settings, *, by: str) -> TrustedSettings:
    """Trust the settings of a checkout as they are now, and return them. Raises Invalid, OSError."""
    if not folder.is_dir():
        raise Invalid({"/workspace": Sentence("folder_missing")})
    project, root = read_project(folder), root_of(folder)
    trust_of(settings).grant(root, project, by=by)
    workspace = project.workspace
    return TrustedSettings(
        workspace=str(root),
        digest=project.digest,
        setup=tuple(step.command for step in project.setup_steps()),
        env=dict(workspace.env),
        network=project.validation.network,
        setup_network=workspace.network,
        filters=workspace.filters,
        team=project.delivery.team,
    )
