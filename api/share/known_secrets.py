"""Collects the secrets that are known where a file is shared: none of them may be in it."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from adapters.agents.team import Team
from adapters.forge.settings import read_settings
from adapters.processes.environment import clean_environment
from adapters.references import REFERENCES, Secrets, resolve_secrets
from adapters.turns.result.team_secrets import secrets_of
from api.node.owner import forge_file, owner_file
from api.node.settings import Settings
from domain.values.base import HansardError

_SHORTEST: Final = 8
"""Letters of a value that counts as a secret only because of the name of its variable."""
_WORD: Final = re.compile(r"[A-Za-z]{1,11}|[0-9.]+|[/~].*")
"""Short words, numbers and paths are no secrets, whatever the variable is called: they are in many texts."""
_NAME: Final = re.compile(
    r"(?:^|_)(?:\w*TOKEN|\w*SECRET|PASS|\w*PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|KEY|APIKEY)(?:_|$)",
    re.IGNORECASE,
)


def known_secrets(team: Team, settings: Settings, environment: Mapping[str, str] = os.environ) -> Secrets:
    """The secrets of the team's agents, of its notifications and of the forge, the owner's key, the passwords in
    addresses, and the values of variables that are called a key, token, secret or password."""
    values = dict(_of_variables(environment))
    values |= dict(_of_addresses({**environment, "HANSARD_DATABASE": settings.database}))
    with suppress(OSError, ValueError):
        values["owner.key"] = owner_file(settings).read_text("ascii").strip()
    references = [team.notify.secret] if team.notify else []
    with suppress(HansardError):
        forge = read_settings(forge_file(settings))
        references += [forge.token, forge.secret]
    for reference in references:
        if reference and reference.startswith(REFERENCES):
            with suppress(ValueError):
                values |= resolve_secrets({reference: reference})
    public = clean_environment(home=Path.home()).values()
    private = {name: value for name, value in values.items() if value not in public}
    return Secrets.of(private).joined(secrets_of(team))


def _of_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        if len(value) >= _SHORTEST and _NAME.search(name) and not _WORD.fullmatch(value):
            yield name, value


def _of_addresses(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The passwords in addresses, such as that of a database or a proxy; each as it is written and as it is."""
    for name, value in environment.items():
        if "://" in value and "@" in value:
            with suppress(ValueError):
                password = urlsplit(value).password or ""
                rest = value.replace(f":{password}@", "@")
                if password and password not in rest:  # `postgres:postgres@` is no secret, and a word of many texts
                    yield from ((name, password), (f"{name} decoded", unquote(password)))
