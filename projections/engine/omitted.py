"""What no view of the catalogue reads, and so need not be read from the log to build them again."""

from typing import Final

from domain.channel import EVENTS as CHANNEL_EVENTS
from domain.delivery.events import ArtifactCreated
from domain.orchestration.events import WorkReported
from domain.session.children import ChildRequested
from domain.session.record import Omitted
from domain.session.turns import (
    ActivityRecorded,
    AgentSessionsCleared,
    TurnAnswered,
    TurnAttemptFailed,
    TurnFailed,
    TurnRequested,
)

_PROMPTED: Final = frozenset(
    {
        "prompt", "context", "reads", "expects", "lane", "access", "ordinal", "role_ordinal", "agent_session",
        "deadline", "iteration",
    }
)  # fmt: skip
_REPLIED: Final = frozenset(
    {
        "reply", "agent_session", "resumed", "new_conversation", "files", "patch", "tree", "slot", "changes", "fence",
        "fence_gaps",
    }
)  # fmt: skip
OMITTED: Final[Omitted] = {
    TurnRequested: _PROMPTED,
    **dict.fromkeys((TurnAnswered, TurnFailed, TurnAttemptFailed), _REPLIED),
    **dict.fromkeys(
        (ActivityRecorded, AgentSessionsCleared, ArtifactCreated, ChildRequested, WorkReported, *CHANNEL_EVENTS)
    ),
}
