"""Labels and recorded names in the terminal's language. English needs no catalogue, and imports none."""

import os
from typing import Final

_ROOMS: Final = ("projections.record", "api.web", "api.cli")


def label(name: str) -> str:
    """The heading of a column or the name of a field."""
    shown = recorded("label", name.lower())
    return name if shown == name.lower() else shown


def recorded(group: str, value: str) -> str:
    """A recorded name, such as a status; English shows it as the API has it."""
    from domain.values.words import of_environment, words  # `--help` has none

    language = of_environment(os.environ)
    return value if language == "en" else words(language, *_ROOMS).of(group, value)


def sentence(text: str, **values: object) -> str:
    """An English sentence of the command line in the terminal's language, with its `{places}` filled."""
    return recorded("say", text).format_map(values)
