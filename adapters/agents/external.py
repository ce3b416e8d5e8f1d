"""The external agent: it is not called, but claims its turns over HTTP (contract §4)."""

from adapters.agents.port import Reply, Turn
from domain.session.turns import Failure
from domain.values.base import Value


class ExternalSettings(Value):
    """There is nothing to set: who comes with a key of this server, or from this machine, may claim its turns."""


class External:
    """The adapter of an agent whose turns are claimed by its own worker."""

    async def ask(self, turn: Turn) -> Reply:
        """Always a failure: such a turn must not be asked here."""
        detail = f"{turn.agent} is an external agent: its turns are claimed at POST /api/turns/claim."
        return Reply(agent_session=turn.agent_session, failure=Failure(code="refused", detail=detail))

    async def forget(self, handle: str) -> None:
        """What it keeps is its own; nothing of it is here."""
