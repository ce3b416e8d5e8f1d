"""`hansard mcp`: the actions of Hansard for other agents, over the Model Context Protocol."""

from typing import Annotated

from cyclopts import Parameter

from api.cli.options import HERE, AgentScope, TeamFile, Where
from api.cli.verb import carried_out_by


@carried_out_by("mcp:mcp")
def mcp(
    *,
    scope: Annotated[
        AgentScope | None,
        Parameter(help="The most that the agent may do. Default: what HANSARD_API_KEY may do; without it, operate."),
    ] = None,
    where: Where = HERE,
    team: TeamFile = None,
) -> None:
    """Serve Hansard's actions to another agent over the Model Context Protocol (stdio).

    With --server or HANSARD_SERVER it uses that server; otherwise turns run in this process while it is connected.
    Give the agent a key of its own in HANSARD_API_KEY: its name is in the record.

    claude mcp add hansard -- hansard mcp --server http://127.0.0.1:8000
    """
