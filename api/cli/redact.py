"""`hansard redact`: take one long text out of the log."""

from typing import Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import connected
from api.cli.options import HERE, AsJson, Where
from api.cli.terminal import counted, put_json, say


async def redact(
    digest: Annotated[str, Parameter(help="SHA-256 of the text, as events and transcripts name it.")],
    /,
    *,
    reason: str,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Remove a text that leaked a secret: from the log, from the events that quote it, and from the views.

    It cannot be undone. Every session that mentions the text records who removed it and why; `hansard verify` stays
    green and names it. Backups, exports and working folders are not touched: revoke the secret first.

    Parameters
    ----------
    reason
        Why; goes on record.
    """
    async with connected(where, "all") as api:
        done = await api.post("/api/redact", {"digest": digest.lower(), "reason": reason})
    if json:
        put_json(done)
    else:
        say(f"Removed {digest[:16]}…, which {counted(len(done['sessions']), 'session')} mentioned.")
    return exits.OK
