"""The options that commands share, and how lists and amounts are typed."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from cyclopts import Group, Parameter, validators
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from api.node.settings import Settings

Fields = dict[str, object]
"""Fields of a request; answers have types of their own, in `api.cli.answers`."""

WHERE: Final = Group("Which log", sort_key=90)
TEAM: Final = "The team file. HANSARD_TEAM; else `[delivery] team` of hansard.toml; else none."
TeamFile = Annotated[
    Path | None, Parameter(group=WHERE, help=TEAM, validator=validators.Path(exists=True, dir_okay=False))
]


@Parameter(name="*", group=WHERE)
@dataclass(frozen=True, kw_only=True)
class Where:
    """The log that a command is about."""

    server: str | None = None
    """Use the server at this address instead of opening the log. HANSARD_SERVER; its key: HANSARD_API_KEY."""
    database: str | None = None
    """The log: a file, or a postgresql:// URL. HANSARD_DATABASE; default: a file in your data directory."""

    def address(self) -> str | None:
        """The server to ask, None for working on the log directly. A flag beats the environment."""
        if self.server and self.database:
            raise Failed(sentence("Give --server or --database, not both."), code=exits.USAGE)
        if self.database:
            return None
        address = self.server or os.environ.get("HANSARD_SERVER") or None
        if address and (urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname):
            raise Failed(
                sentence("{address!r} is not a server address: expected http://host:port.", address=address),
                code=exits.USAGE,
            )
        return address

    def settings(self, **more: Any) -> "Settings":
        """The environment's settings with these flags over them."""
        from pydantic import ValidationError

        from api.node.settings import Settings

        options = {"database": self.database, **more}
        flags = {name: value for name, value in options.items() if value is not None}
        try:
            return _with_team(Settings(**flags))
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
            raise Failed(*(_setting(flags, each) for each in problems), code=exits.USAGE) from None


def _with_team(settings: "Settings") -> "Settings":
    """The same with the team file of the current repository, if none is named."""
    here = Path.cwd()
    if settings.team is not None or not any((place / "hansard.toml").is_file() for place in (here, *here.parents)):
        return settings
    from api.actions.projects import team_of

    team = team_of(here, settings)
    return settings if team is None else settings.model_copy(update={"team": team})


HERE: Final = Where()

AsJson = Annotated[bool, Parameter(help="Print the API's answer as JSON.")]
AlwaysJson = Annotated[bool, Parameter(help="Has no effect: the output is always JSON.")]
Database = Annotated[
    str | None,
    Parameter(group=WHERE, help="The log. HANSARD_DATABASE; default: a file in your data directory."),
]
Id = Annotated[str, Parameter(help="The session: an id, a unique prefix, or `latest`.")]
At = Annotated[PositiveInt | None, Parameter(help="As it was after its N-th event.")]
Key = Annotated[str | None, Parameter(help="Repeating a command with the same key has no further effect.")]
Version = Annotated[int | None, Parameter(help="Only if the session is still at this version; else exit code 4.")]
AgentScope = Literal["read", "operate", "decide"]
"""The scopes that a key of an agent may have."""
ReviewStrategy = Literal["review", "red-team"]
DebateStrategy = Literal["debate", "perspectives"]
ReviewOption = Annotated[bool | ReviewStrategy, Parameter(show_choices=False, metavar="[=STRATEGY]")]
DebateOption = Annotated[bool | DebateStrategy, Parameter(show_choices=False, metavar="[=STRATEGY]")]


def discussion_option(wanted: bool | str) -> Fields | None:
    """The discussion settings in the API's form; None: no discussion."""
    if wanted is False:
        return None
    return {"enabled": True} if wanted is True else {"enabled": True, "strategy": wanted}


def split(words: Iterable[str]) -> list[str]:
    """The items of all the words; a comma inside quotes or after a backslash belongs to its item, and empty items
    are dropped. Quotes stay: they are the command's own."""
    return [item for word in words for item in _items(word)]


def micros(dollars: str | None, millionths: int | None, *, option: str) -> int | None:
    """Millionths of a dollar from `2.50`, or as given. Raises Failed for both, and for what is no amount."""
    if dollars is None:
        return millionths
    if millionths is not None:
        raise Failed(sentence("Give {option} or {option}-micros, not both.", option=option), code=exits.USAGE)
    from decimal import Decimal, InvalidOperation  # a tenth of what `hansard list` takes

    try:
        amount = Decimal(dollars.removeprefix("$")) * 1_000_000
        exact = amount.is_finite() and 0 < amount < 2**53 and amount == int(amount)
    except InvalidOperation:
        exact = False
    if not exact:
        raise Failed(
            sentence(
                "{option} {dollars}: expected an amount in US dollars, such as 2.50.", option=option, dollars=dollars
            ),
            code=exits.USAGE,
        )
    return int(amount)


def _items(word: str) -> list[str]:
    items, current, quote, escaped = [], "", "", False
    for character in word:
        if escaped:
            current += character if character == "," else f"\\{character}"
        elif character == "," and not quote:
            items.append(current)
            current = ""
        elif character != "\\":
            quote = _quoting(quote, character)
            current += character
        escaped = character == "\\" and not escaped
    items.append(current + ("\\" if escaped else ""))
    return [item.strip() for item in items if item.strip()]


def _quoting(quote: str, character: str) -> str:
    """The quote that is open after this character."""
    if character not in "\"'":
        return quote
    if not quote:
        return character
    return "" if character == quote else quote


def _setting(flags: Mapping[str, Any], problem: "ErrorDetails") -> str:
    """The fault of a setting, by the name under which it was given."""
    from domain.values.sentences import of_pydantic

    name = str(problem["loc"][0]) if problem["loc"] else "settings"
    spelt = f"--{name.replace('_', '-')}" if name in flags else f"HANSARD_{name.upper()}"
    return f"{spelt}: {exits.in_words(of_pydantic(problem))}"
