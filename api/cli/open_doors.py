"""Refusals before a process that stays begins: of a malformed log, of places that cannot be written, and of a server or
a database that is open to everybody."""

from adapters.store.sqlite.soundness import refuse_malformed
from api.cli import exits
from api.cli.error_words import in_words
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.node.places import unfit_places
from api.node.settings import Settings


def refuse_a_malformed_log(settings: Settings) -> None:
    """Look at all of the log before anything is accepted. Raises Broken."""
    if settings.log_file is not None:
        refuse_malformed(settings.log_file)


def refuse_unfit_places(settings: Settings, *, checkpoints: bool) -> None:
    """Look at the places that settings name, into which nothing could be written later."""
    faults = [
        f"{fault.setting}: {in_words(fault.problem)}" for fault in unfit_places(settings, checkpoints=checkpoints)
    ]
    if faults:
        raise Failed(*faults, code=exits.USAGE)


def refuse_an_open_server(settings: Settings) -> None:
    """This service runs commands, so other machines need a key."""
    if settings.auth == "off" and not settings.loopback:
        raise Failed(
            sentence(
                "Other machines can reach {host}, so keys are required: unset HANSARD_AUTH=off.", host=settings.host
            ),
            code=exits.NOT_ALLOWED,
        )


def refuse_an_open_database(settings: Settings) -> None:
    """An agent with network access could write to the record if the database asks for no password."""
    if settings.log_file is not None or settings.database_trusted:
        return
    from api.cli.open_database import refuse_without_password  # most logs are a file, and their server listens sooner

    refuse_without_password(settings)
