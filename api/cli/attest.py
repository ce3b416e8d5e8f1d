"""`hansard attest`: a signed statement of where a result comes from."""

from functools import partial
from typing import Any

from adapters.proof import checkpoints, envelope
from adapters.store.port import Log
from adapters.store.texts import whole
from api.cli import exits
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import find_stream, open_log, settings_of
from api.cli.terminal import put, put_json
from domain.kinds import fold
from domain.session.record import kind_of
from projections.record.provenance import authors, statement
from projections.record.session import view
from projections.views.session import DeliveryView, OrchestrationView


def attest(session: str | None, /, *, public_key: bool, json: bool, database: str | None) -> int:
    """Print a signed in-toto statement of a session's result: a DSSE envelope, Ed25519."""
    settings = settings_of(database)
    try:
        with open_log(settings) as store:
            if public_key:
                put(envelope.public_pem(checkpoints.signing_key(settings.signing_key)).rstrip("\n"))
                return exits.OK
            if session is None:
                raise Failed(sentence("Name a session, or use --public-key."), code=exits.USAGE)
            statement = _statement(store, find_stream(store, session))
            put_json(envelope.signed(statement, checkpoints.signing_key(settings.signing_key)))
    except checkpoints.NotProved as error:
        raise Failed(sentence("Nothing was signed. {error}", error=words_of(error)), code=exits.NOT_VERIFIED) from None
    return exits.OK


def _statement(store: Log, name: str) -> dict[str, Any]:
    """Raises Failed where there is nothing to attest."""
    history = store.history(name)
    session = fold(kind_of(name), ((recorded.event, recorded.metadata) for recorded in history))
    shown = view(session) if session is not None else None
    chain = store.rows.hash_of(name, len(history))
    if not isinstance(shown, DeliveryView | OrchestrationView) or shown.result is None or chain is None:
        raise Failed(sentence("Session {name} has changed nothing.", name=name), code=exits.REFUSED)
    return statement(shown, shown.result, authors(name, history, partial(whole, store)), chain.hex())
