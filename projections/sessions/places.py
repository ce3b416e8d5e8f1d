"""Says which sessions belong to a repository: those that were started in it, or on it. Imports nothing: `latest` is
fast."""

from typing import Final

HERE: Final = (
    "parent IS NULL"
    " AND (started_in = ? OR repository = ? OR started_in IS NULL AND substr(repository, 1, length(?)) = ?)"
)
"""A condition on rows. Nobody started the reviews and debates of a session. Older sessions only know the folder that
they work on, perhaps one inside the repository."""


def of_repository(top: str) -> tuple[str, str, str, str]:
    """The values for that condition, from the repository's top folder."""
    inside = f"{top.rstrip('/')}/"
    return top, top, inside, inside
