"""`hansard mcp`: its server, where the packages of the extra are installed."""

import asyncio
from pathlib import Path

from adapters.extras import install_extra
from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import AgentScope, Where


def mcp(*, scope: AgentScope | None, where: Where, team: Path | None) -> int:
    """Serve Hansard's actions to another agent over the Model Context Protocol (stdio)."""
    try:
        from api.cli.mcp_server import served
    except ImportError:
        raise Failed(
            sentence("`hansard mcp` needs more packages: {command}", command=install_extra("mcp")), code=exits.USAGE
        ) from None
    return asyncio.run(served(scope, where, team))
