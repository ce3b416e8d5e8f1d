"""What does not work, in a sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

from domain.values.base import HansardError


class WorkspaceError(HansardError):
    """A folder, a path or git does not allow it; the sentence says which."""


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """What the system refuses, as a refusal of ours."""
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise WorkspaceError(f"{error.strerror or type(error).__name__}{where}") from error
