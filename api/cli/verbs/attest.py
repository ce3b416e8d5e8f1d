"""`hansard attest`: a signed statement of where a result comes from."""

from typing import Annotated

from cyclopts import Parameter

from api.cli.options import AlwaysJson, Database
from api.cli.verb import carried_out_by


@carried_out_by("attest:attest")
def attest(
    session: Annotated[str | None, Parameter(help="The session: an id, a unique prefix, or `latest`.")] = None,
    /,
    *,
    public_key: Annotated[bool, Parameter(help="Print the public key instead, as openssl reads it.")] = False,
    json: AlwaysJson = False,
    database: Database = None,
) -> None:
    """Print a signed in-toto statement of a session's result: a DSSE envelope, Ed25519.

    It says which turns made the result, what they were asked, what was validated and who approved it.
    """
