"""`key`: API keys. What is kept are digests: enough to check a key, not to use one."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from api.cli.options import AsJson
from api.cli.verb import carried_out_by
from api.node.access import DEFAULT
from api.node.scopes import Scope


@carried_out_by("keys:key")
def key(
    action: Annotated[Literal["new", "list", "revoke", "owner"], Parameter(help="`owner` prints the owner's key.")],
    name: Annotated[str | None, Parameter(help="Who uses the key; events carry this name as their actor.")] = None,
    /,
    *,
    scope: Annotated[
        Scope,
        Parameter(
            help="What it may do: read, operate (start, continue, cancel …), decide (decisions, budgets, trust), admin;"
            " each includes those before it. turns: only the turns of an external agent."
        ),
    ] = DEFAULT,
    expires: Annotated[str | None, Parameter(help="When it expires: 45s, 30m, 12h, 30d [default: never].")] = None,
    file: Annotated[Path | None, Parameter(help="A key file instead of the log, for HANSARD_API_KEYS_FILE.")] = None,
    json: AsJson = False,
) -> None:
    """Create, list and revoke API keys. A new key is printed once; only its SHA-256 is stored.

    Keys are kept in the log; every server on it knows a new or revoked key within a second.

    hansard key new ada --scope decide --expires 30d
    """
