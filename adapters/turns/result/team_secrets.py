"""The secrets that a team's agents get, as far as they are set here."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from adapters.agents.command.call import login
from adapters.agents.command.settings import ProgramSettings
from adapters.agents.model.endpoint import ModelSettings
from adapters.agents.team import Member, Team
from adapters.processes.environment import clean_environment
from adapters.references import REFERENCES, Secrets, resolve_secrets


def secrets_of(team: Team) -> Secrets:
    """The values of the secrets that the team's agents get; without those that cannot be read now, and those that every
    program gets."""
    values = {name: value for member in team.agents for name, value in _values(member)}
    if not values:
        return Secrets.of({})
    public = clean_environment(home=Path.home()).values()
    return Secrets.of({name: value for name, value in values.items() if value not in public})


def unset_secrets(team: Team) -> tuple[str, ...]:
    """The variables of the team's secrets that have no value here, so that a text with the value is not recognized."""
    return tuple(dict.fromkeys(name for member in team.agents for name in _unset(member)))


def _unset(member: Member) -> Iterator[str]:
    for name, reference in _references(member).items():
        try:
            resolve_secrets({name: reference})
        except ValueError:
            yield name
    if isinstance(member.settings, ProgramSettings):
        try:
            login(member.settings)
        except ValueError:
            yield from (source or name for name, _, source in (key.partition("=") for key in member.settings.keys))


def _values(member: Member) -> Iterator[tuple[str, str]]:
    for name, reference in _references(member).items():
        with suppress(ValueError):
            yield name, resolve_secrets({name: reference})[name]


def _references(member: Member) -> dict[str, str]:
    """The secrets that the settings refer to, by the names of their variables."""
    match member.settings:
        case ModelSettings(api_key=str(key)):
            return {key.partition(":")[2]: key}
        case ProgramSettings() as settings:
            logins: dict[str, str] = {}
            with suppress(ValueError):  # there is none
                logins = login(settings)
            return {name: value for name, value in {**settings.env, **logins}.items() if value.startswith(REFERENCES)}
        case _:
            return {}
