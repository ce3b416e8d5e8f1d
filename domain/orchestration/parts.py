"""What planning and rounds share: the draft, the chart's next state, and how a turn is requested."""

from collections.abc import Mapping

from domain.orchestration.chart import TABLE
from domain.orchestration.events import AgentPhase
from domain.orchestration.phases import AgentPhases
from domain.orchestration.state import Orchestration
from domain.session.draft import Draft
from domain.session.turns import Access, TurnRequested
from domain.values.base import Refused, Text

OrchestrationDraft = Draft[Orchestration]


def next_state(draft: OrchestrationDraft, event: str, *, sentence: str) -> str:
    """The state that the event leads to. Refused, with the doors that are open, where it leads nowhere."""
    session = draft.session
    target = TABLE.target(session.state, event, session.guard)
    if target is None:
        raise Refused(sentence, allowed=doors(session))
    return target


def doors(session: Orchestration) -> tuple[str, ...]:
    """What a person may do now, by the names of the doors (contract §2)."""
    allowed = TABLE.allowed(session.state, session.guard)
    names = {"resume": ("continue",), "discard": ("reset", "cancel"), "extend": ("extend",)}
    return tuple(door for event, found in names.items() if event in allowed for door in found)


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
            agent_session=session.thread(name, role),
            phase=phase,
            round=session.round or None,
        )
    )


def worklog(session: Orchestration) -> str:
    """Where the record of the run can be read (contract §2)."""
    return f"/api/sessions/{session.id}/worklog"


def standing(agents: tuple[AgentPhases, ...]) -> tuple[AgentPhase, ...]:
    """Where every agent stands, for the round's events."""
    return tuple(
        AgentPhase(agent=agent.agent, phase=agent.current_phase, completed=agent.completed) for agent in agents
    )
