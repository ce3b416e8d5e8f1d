"""The words of the page: its own, and the names of what is recorded."""

from typing import Final

from domain.values.words import Language, Words
from domain.values.words import words as of_rooms

ROOMS: Final = ("projections.record", "api.web")


def words(language: Language) -> Words:
    """Everything that the page says, in one language."""
    return of_rooms(language, *ROOMS)
