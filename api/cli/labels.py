"""Labels and recorded names in the terminal's language. English needs no catalogue, and imports none."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from domain.values.words import Words

_ROOMS: Final = ("projections.record", "api.web", "api.cli")


def label(name: str) -> str:
    """The heading of a column or the name of a field."""
    shown = recorded("label", name.lower())
    return name if shown == name.lower() else shown


def recorded(group: str, value: str) -> str:
    """A recorded name, such as a status; English shows it as the API has it."""
    words = _words()
    return value if words is None else words.of(group, value)


def status_code(word: str) -> str:
    """The status that people see as this word; the word itself where there is none."""
    words = _words()
    names = {} if words is None else words.group("status")
    return next((code for code, name in names.items() if name == word), word)


def _words() -> "Words | None":
    """The names in the terminal's language; None for English, which needs none."""
    from domain.values.words import of_environment, words  # `--help` has none

    language = of_environment(os.environ)
    return None if language == "en" else words(language, *_ROOMS)


def name_of(actor: str) -> str:
    """The name of a person, without the word that says that it is one; any other actor as it is recorded."""
    return actor.removeprefix("person:").removeprefix("key:")


def gap(name: str) -> str:
    """The gaps of a fence, in words."""
    shown = recorded("gap", name)
    return GAPS.get(name, name) if shown == name else shown


def verdict(name: str) -> str:
    """An agent's conclusion in words; a verdict that is none of ours as it is."""
    shown = recorded("verdict", name)
    return VERDICTS.get(name, name) if shown == name else shown


def sentence(text: str, **values: object) -> str:
    """An English sentence of the command line in the terminal's language, with its `{places}` filled."""
    shown = recorded("say", text)
    if shown == text:
        return text.format_map(values)
    from domain.values.words import with_particles

    return with_particles(shown, values)


# The fence that held a session's programs, in words.


VERDICTS: Final[Mapping[str, str]] = {
    "PASS": "passes",
    "NEEDS_FIX": "needs a fix",
    "APPROVE": "approves",
    "CHALLENGE": "objects",
}
NAMES: Final[Mapping[str, str]] = {"bwrap": "bubblewrap", "landlock": "Landlock", "none": "none"}
GAPS: Final[Mapping[str, str]] = {
    "files": "any file of the account can be read and written",
    "hidden_files": "a folder that should be hidden can be read",
    "metadata": "size, times and permissions of any file can be seen and changed",
    "network": "any address can be reached",
    "udp": "any address can be reached by datagrams",
    "sockets": "sockets of other programs can be opened",
    "shared_memory": "shared memory of other programs can be opened",
    "processes": "other processes can be seen, and may be signalled",
    "survivors": "what outlives a turn is found and ended, not prevented",
}
REFUSALS: Final[Mapping[str, str]] = {
    "not_listed": "{host}: not in the list ({n}×)",
    "port": "{host}: not with this port ({n}×)",
    "address": "{host}: an address that is not in the list ({n}×)",
    "private": "{host}: leads to this machine or a private network ({n}×)",
    "malformed": "a request that cannot be read ({n}×)",
    "too_many": "too many connections at once ({n}×)",
    "direct": "{host}: tried without the proxy, which alone leads out ({n}×)",
}
"""Why hosts were refused."""
HOW_TO_ALLOW: Final = (
    "To allow a host, add it to `network`: of the agent in the team file, or in hansard.toml."
    " One that leads to a private network needs its address or network there, too, such as 10.20.0.0/16:443."
)
"""The meaning of a gap, as a text for people."""


def refused_host(refused: Mapping[str, Any]) -> str:
    """Return a host that was refused, why, and how often."""
    host = f"{refused['host']}:{refused['port']}" if refused["port"] else refused["host"]
    return sentence(REFUSALS[refused["reason"]], host=host, n=refused["count"])
