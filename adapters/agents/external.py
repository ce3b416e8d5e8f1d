"""The external agent: nobody asks it, it comes for its turns over HTTP (contract §4)."""

from adapters.agents.port import Reply, Turn
from domain.session.turns import Failure
from domain.values.base import Value


class ExternalSettings(Value):
    """There is nothing to set: who comes with a key of this server, or from this machine, may claim its turns."""


class External:
    """What stands behind the port for an agent whose turns are claimed by a worker of its own."""

    async def ask(self, turn: Turn) -> Reply:
        """A failure: whoever asks has taken a turn that is not for asking."""
        detail = f"{turn.agent} is an external agent: its turns are claimed at POST /api/turns/claim."
        return Reply(agent_session=turn.agent_session, failure=Failure(code="refused", detail=detail))

    async def forget(self, handle: str) -> None:
        """What it keeps is its own; nothing of it is here."""
