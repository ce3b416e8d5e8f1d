"""What can be asked of a channel."""

from domain.orchestration.events import OrchestrationRequest
from domain.values.base import Command


class ReceiveMessage(Command):
    """A message of `sender`; `session_id` is the id that a session it starts will have."""

    session_id: str
    opening: OrchestrationRequest
    sender: str = ""


class ContinueLatest(Command):
    """The latest orchestration of the origin goes on."""


class ResetLatest(Command):
    """The latest orchestration of the origin is ended."""

    reason: str = ""


class NoteSession(Command):
    """An orchestration of this origin has come to a status.

    `claims`: it takes the origin for itself; `opens`: it is a new request; `direct`: an agent answers it directly.
    """

    session_id: str
    origin: str
    status: str
    claims: bool = False
    opens: bool = False
    direct: bool = False
