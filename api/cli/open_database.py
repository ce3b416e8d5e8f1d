"""Refuses a database of PostgreSQL that lets in every program on this machine."""

from adapters.agents.team import load
from adapters.fence.choice import available
from adapters.store.location import check_driver
from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.node.settings import Settings


def refuse_without_password(settings: Settings) -> None:
    """Raises Failed if an agent with network access could write to the record."""
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
