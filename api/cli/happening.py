"""What happened, in a few words that fit on a line, in the language of the terminal."""

import os

from api.cli.client import Json
from domain.values.words import of_environment
from projections.record import describe as events


def describe(event: Json) -> str:
    """An event of the API as a person reads it."""
    return events.describe(event["type"], event["data"], of_environment(os.environ))
