"""Refusals before a process that stays begins: of a malformed log, and of a server or a database that is open to
everybody."""

from adapters.store.sqlite.soundness import refuse_malformed
from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.node.settings import Settings


def refuse_a_malformed_log(settings: Settings) -> None:
    """Look at all of the log before anything is accepted. Raises Broken."""
    if settings.log_file is not None:
        refuse_malformed(settings.log_file)


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
    from adapters.agents.team import load  # most logs are a file, and their server listens sooner
    from adapters.fence.choice import available
    from adapters.store.location import check_driver

    team = load(settings.team)
    level = "none" if (settings.sandbox or team.sandbox) == "off" else available()
    fenced = level == "bwrap" or (level == "landlock" and not team.lists_hosts())  # Landlock enforces no list
    if not team.has_network(fenced=fenced):
        return
    check_driver()
    from adapters.store.postgres.sealed_log import lets_in_without_password

    if lets_in_without_password(settings.database):
        raise Failed(
            sentence(
                "{log} lets this account in without a password, and so every program that an agent runs. Let the"
                " database ask for one (scram-sha-256), or set HANSARD_DATABASE_TRUSTED=1.",
                log=settings.log_name,
            ),
            code=exits.NOT_ALLOWED,
        )
