"""Connections to forges: the address of the API, the token for it, and the dialect."""

from collections.abc import Mapping

from adapters.forge.github import GithubForge
from adapters.forge.gitlab import GitlabForge
from adapters.forge.http import ForgeHttp
from adapters.forge.port import Forge, ForgeRepository
from adapters.forge.remotes import GITHUB
from adapters.forge.settings import ForgeSettings
from adapters.forge.token import token_for


def api_of(repository: ForgeRepository, settings: ForgeSettings) -> str:
    """The address of the API for the repository's host: that of the settings, else the usual one."""
    if settings.api is not None and settings.is_for(repository):
        return settings.api
    host = repository.host
    if repository.kind == "gitlab":
        return f"https://{host}/api/v4"
    hosted = host == GITHUB or host.endswith(".ghe.com")
    return f"https://api.{host}" if hosted else f"https://{host}/api/v3"


async def connect(
    repository: ForgeRepository, settings: ForgeSettings, *, at_terminal: bool, environment: Mapping[str, str]
) -> Forge | None:
    """The repository at its forge; None where there is no token for it. Sends nothing yet, but may run `gh` or `glab`
    at a terminal. Raises BadForge where the token that the settings name cannot be had."""
    token = await token_for(repository, settings, at_terminal=at_terminal, environment=environment)
    if token is None:
        return None
    http = ForgeHttp(repository.kind, api_of(repository, settings), token)
    return GithubForge(repository, http) if repository.kind == "github" else GitlabForge(repository, http)
