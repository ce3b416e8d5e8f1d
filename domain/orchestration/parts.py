"""What planning and rounds share: the draft, the chart's next state, and how a turn is requested and settled."""

from collections.abc import Mapping
from typing import Any

from domain.base import Text
from domain.orchestration.chart import TABLE
from domain.orchestration.events import AgentPhase
from domain.orchestration.state import Orchestration
from domain.phases import AgentPhases
from domain.session import Draft
from domain.turns import Access, RecordReply, TurnAnswered, TurnFailed, TurnRequested

OrchestrationDraft = Draft[Orchestration]


def next_state(draft: OrchestrationDraft, event: str, *, sentence: str) -> str:
    return TABLE.next(draft.session.state, event, draft.session.guard, sentence=sentence)


def request(
    draft: OrchestrationDraft,
    *,
    role: str,
    prompt: str,
    reads: str,
    context: Mapping[str, str | Text],
    agent: str | None = None,
    access: Access = "read",
    expects: tuple[str, ...] = (),
    lane: int = 0,
    phase: str | None = None,
) -> None:
    """Ask somebody; the crew says who has the role unless the agent is named."""
    session = draft.session
    name = agent or session.crew.get(role, role)
    draft.record(
        TurnRequested(
            turn_id=f"{session.id}.t{session.turns + 1}",
            work="ask",
            agent=name,
            role=role,
            prompt=f"{prompt}@1",
            reads=reads,
            context={key: text if isinstance(text, Text) else draft.text(text) for key, text in context.items()},
            expects=expects,
            lane=lane,
            access=access,
            ordinal=session.asked.get(name, 0),
            role_ordinal=session.asked_roles.get(role, 0),
            agent_session=session.agent_sessions.get(name),
            phase=phase,
            round=session.round or None,
        )
    )


def settle(draft: OrchestrationDraft, command: RecordReply) -> bool:
    """Record the end of the turn; whether it was answered."""
    turn = draft.session.turn(command.turn_id)
    draft.session.accept_tree(command)
    common: dict[str, Any] = {
        **turn.settled(),
        "attempt": command.attempt,
        "seconds": command.seconds,
        "usage": command.usage,
        "prompt": command.prompt,
        "reply": command.reply,
    }
    if command.failure is not None:
        draft.record(TurnFailed(failure=command.failure, **common))
        return False
    draft.record(
        TurnAnswered(
            agent_session=command.agent_session, files=command.files, tree=command.tree, slot=command.slot, **common
        )
    )
    return True


def standing(agents: tuple[AgentPhases, ...]) -> tuple[AgentPhase, ...]:
    """Where every agent stands, for the round's events."""
    return tuple(
        AgentPhase(agent=agent.agent, phase=agent.current_phase, completed=agent.completed) for agent in agents
    )
