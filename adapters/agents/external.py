"""The external agent, which Hansard does not call: its worker claims turns over HTTP."""

from adapters.agents.port import Reply, Turn
from domain.session.attempts import Failure
from domain.values.base import Value


class ExternalSettings(Value):
    """There are no settings: anyone with a suitable key of this server may claim its turns."""


class External:
    """The adapter of an agent whose own worker claims its turns."""

    async def ask(self, turn: Turn) -> Reply:
        """Always a failure: such a turn must not be asked here."""
        detail = f"{turn.agent} is an external agent: its turns are claimed at POST /api/turns/claim."
        return Reply(agent_session=turn.agent_session, failure=Failure(code="refused", detail=detail))

    async def forget(self, handle: str) -> None:
        """Nothing is kept here."""
