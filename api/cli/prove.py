"""`hansard prove`: that one event is in a log whose head is signed, for people without the log."""

from typing import Any

from adapters.proof import checkpoints, inclusion
from api.cli import exits
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import find_stream, open_log, settings_of
from api.cli.terminal import put_json


def prove(session: str, version: int, /, *, json: bool, database: str | None) -> int:
    """Print a proof that one event is in the log. Anyone can check it with only the public key."""
    settings = settings_of(database)
    try:
        with open_log(settings) as store:
            key = checkpoints.signing_key(settings.signing_key)
            proof: dict[str, Any] = inclusion.prove(store, find_stream(store, session), version, key)
    except checkpoints.NotProved as error:
        raise Failed(sentence("Nothing was proved. {error}", error=words_of(error)), code=exits.NOT_VERIFIED) from None
    put_json(proof)
    return exits.OK
