"""`hansard redact`: takes a text out of the log."""

from typing import Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import connected
from api.cli.labels import sentence
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

    It cannot be undone. Every session that mentions the text records who removed it and why; `hansard verify` still
    passes and names the removal. Backups, exports and working folders are not touched: revoke the secret first.

    Parameters
    ----------
    reason
        Why; this is recorded.
    """
    async with connected(where, "all") as api:
        done = await api.post("/api/redact", {"digest": digest.lower(), "reason": reason})
    if json:
        put_json(done)
    else:
        say(
            sentence(
                "Removed {digest}…, which {n} mentioned.",
                digest=digest[:16],
                n=counted(len(done["sessions"]), "session"),
            )
        )
        for name, versions in done["repeated"].items():
            say(
                sentence(
                    "Parts of it are still in {session}, for example in findings: events {versions}.",
                    session=name,
                    versions=", ".join(map(str, versions[:20])) + ("…" if len(versions) > 20 else ""),
                )
            )
        if done["shared"]:
            say(
                sentence(
                    "Commits of these sessions are still in the database: {shared}.", shared=", ".join(done["shared"])
                )
            )
            say(sentence("When they have ended, run `hansard clean --days 0` on the machine that has their workspace."))
    return exits.OK
