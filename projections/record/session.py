"""A session as the outside sees it (contract §2, Views), now or as it stood at any version."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final, Literal

from domain.delivery.chart import PHASES
from domain.delivery.state import Delivery
from domain.discussion.state import Contribution, Discussion
from domain.kinds import fold
from domain.orchestration.phases import AgentPhases, phase_name
from domain.orchestration.state import Orchestration, subtask_id
from domain.session.record import Recorded, kind_of
from domain.session.state import Outstanding, Session
from domain.values.time import iso
from projections.engine.ports import Histories
from projections.engine.snapshots import Snapshots
from projections.record.markdown import one_line

TITLE = 80
"""Characters of a title."""
STRIDE = 64
"""Every so many versions a state is kept, so that a step through the history folds fewer events than that."""
KEPT = 500
"""Sessions whose states are kept."""


def title_of(title: str, task: str) -> str:
    """The title given, else the first line of the task, 80 characters."""
    words = title.strip() or next((line for line in task.splitlines() if line.strip()), "")
    return one_line(words, TITLE)


def view(session: Session) -> dict[str, Any]:
    """A pure function of the session at its version: `elapsedMs` is as of its last event, never of the clock."""
    match session:
        case Delivery():
            return _common(session, session.status, session.task) | _delivery(session)
        case Orchestration():
            return _common(session, session.status, session.prompt) | _orchestration(session)
        case Discussion():
            return _common(session, session.status, session.subject.head) | _discussion(session)
        case _:
            return _common(session, session.state, "")


def _common(session: Session, status: str, task: str) -> dict[str, Any]:
    return {
        "id": session.id,
        "kind": session.kind,
        "status": status,
        "title": title_of(session.title, task),
        "version": session.version,
        "createdAt": iso(session.created_at),
        "updatedAt": iso(session.updated_at),
        "origin": session.origin,
        "labels": list(session.labels),
        "parent": session.parent,
        "children": list(session.children),
        "forkedFrom": session.forked_from,
        "held": session.held,
        "outstandingTurns": [turn_view(turn) for turn in session.outstanding.values()],
        "lastError": session.last_error,
        "workspace": session.workspace,
    }


def turn_view(turn: Outstanding) -> dict[str, Any]:
    """A turn that is waited for."""
    return {
        "turnId": turn.turn_id,
        "work": turn.work,
        "agent": turn.agent,
        "role": turn.role,
        "phase": turn.phase,
        "round": turn.round,
        "requestedAt": iso(turn.requested_at),
    }


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "task": delivery.task,
        "filePaths": list(delivery.file_paths),
        "validationCommands": [{"stage": step.stage, "command": step.command} for step in delivery.steps],
        "maxAttempts": delivery.budget.limits.max_iterations,
        "currentPhase": delivery.phase,
        "phaseStatuses": {phase: delivery.phases[phase] for phase in PHASES},
        "iteration": delivery.iteration,
        "attempt": delivery.iteration,
        "budget": _budget(delivery),
        "artifactRefs": {phase: delivery.artifact_refs[phase] for phase in PHASES if phase in delivery.artifact_refs},
        "feedback": delivery.feedback.head or None,
        "finalSummary": delivery.final_summary,
    }


def _orchestration(session: Orchestration) -> dict[str, Any]:
    return {
        "prompt": session.prompt,
        "mode": session.mode,
        "triage": {"orchestrate": session.triage.orchestrate, "signals": list(session.triage.signals)},
        "employees": [{"name": employee.name, "role": employee.role} for employee in session.employees],
        "plan": session.plan.head if session.plan else None,
        "planVersion": session.plan_version,
        "round": session.round,
        "maxRounds": session.last_round,
        "lastRound": session.last_round,
        "agents": [_agent(session, index) for index in range(len(session.agents))],
        "summary": session.summary.head if session.summary else None,
        "reason": session.partial_reason,
        "warnings": list(session.warnings),
    }


def _discussion(session: Discussion) -> dict[str, Any]:
    decision = session.decision
    decided = None
    if decision is not None:
        decided = {
            "choice": decision.choice,
            "actor": decision.actor,
            "rationale": decision.rationale,
            "at": iso(decision.at),
            "expired": decision.expired,
        }
    history = [metrics.model_dump(mode="json", by_alias=True) for metrics in session.metrics]
    return {
        "subject" if session.kind == "review" else "plan": session.subject.head,
        "strategy": session.strategy,
        "maxRounds": session.max_rounds,
        "profile": session.profile.id,
        "rounds": [_round(said) for said in session.rounds],
        "convergence": history[-1] if history else None,
        "convergenceHistory": history,
        "synthesis": {"text": session.synthesis.head, "fallback": session.fallback, "counts": session.counts}
        if session.synthesis
        else None,
        "feedback": session.feedback,
        "dissent": list(session.dissent),
        "decision": decided,
        "choices": list(session.choices),
        "stopReason": session.stop_reason,
        "expiresAt": session.expires_at,
    }


def _round(said: Contribution) -> dict[str, Any]:
    return {
        "round": said.round,
        "role": said.role,
        "agent": said.agent,
        "content": said.content.head,
        "length": said.content.length,
        "feedback": said.feedback,
        "problem": said.problem,
    }


GATES: Final = {"completed": "✅ 완료", "paused": "⏸ checkpoint", "active": "⏳ 진행 중", "stopped": "⏹ 중단"}
"""The seeds' words for how an agent stands; the last is ours: of an agent whose run was reset."""


AgentStatus = Literal["active", "paused", "completed", "stopped"]


def agent_status(session: Orchestration, agent: AgentPhases) -> AgentStatus:
    """How an agent stands; completed wins over paused, and after a reset nobody works."""
    if agent.completed:
        return "completed"
    if session.ended:
        return "stopped"
    return "paused" if session.status == "checkpoint" and agent.checkpointed else "active"


def _agent(session: Orchestration, index: int) -> dict[str, Any]:
    """One row of the seeds' Agent Status Matrix (§1.12)."""
    agent = session.agents[index]
    status = agent_status(session, agent)
    return agent.model_dump(mode="json", by_alias=True) | {
        "status": status,
        "gate": GATES[status],
        "phaseName": phase_name(agent.current_phase),
        "subtaskId": subtask_id(index),
        "parallel": session.parallel[index] if session.round else agent.parallel,
        "agentSession": session.thread(agent.agent, agent.role),
    }


def _budget(delivery: Delivery) -> dict[str, Any]:
    """The snapshot of S4 §4.2; what has no limit or was never reported is left out."""
    snapshot = delivery.snapshot(delivery.updated_at)
    limits = delivery.budget.limits
    known = {
        "tokens": snapshot.tokens,
        "costMicros": snapshot.cost_micros,
        "maxTokens": limits.max_tokens,
        "maxCostMicros": limits.max_cost_micros,
        "unknownTurns": delivery.spent.unknown or None,
    }
    return {
        "maxIterations": snapshot.max_iterations,
        "maxMinutes": snapshot.max_minutes,
        "startedAt": iso(snapshot.started_at),
        "deadlineAt": iso(snapshot.deadline_at),
        "elapsedMs": snapshot.elapsed_ms,
        "remainingIterations": snapshot.remaining_iterations,
        "reason": snapshot.reason,
        **{name: value for name, value in known.items() if value is not None},
    }


class Sessions:
    """Folded sessions by id and version. Remembers states and folds on from the nearest; safe for many threads."""

    def __init__(self, log: Histories, snapshots: Snapshots | None = None, *, kept: int = KEPT) -> None:
        self._log, self._snapshots, self._size = log, snapshots, kept
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, dict[int, Session]] = OrderedDict()

    def get(self, session_id: str, version: int | None = None) -> Session | None:
        """The session now, or as it stood after its event `version`; None if there is no such session or event.

        Raises what the log raises for an event that it cannot read.
        """
        if version is not None and version < 1:
            return None
        session = self._nearest(session_id, version)
        if session is not None and session.version == version:
            return session
        after = session.version if session else 0
        seen: list[Session] = []
        for recorded in self._log.history(session_id, after=after, upto=version):
            session = _next(session, recorded)
            if session.version % STRIDE == 0:
                seen.append(session)
        if session is None or (version is not None and session.version != version):
            return None
        self._keep(session_id, [*seen, session])
        return session

    def _nearest(self, session_id: str, version: int | None) -> Session | None:
        """What is remembered, or a snapshot where more events than lie between two of them would have to be folded."""
        known = self._remembered(session_id, version)
        if self._snapshots is None:
            return known
        if known is not None and (version is None or version - known.version < self._snapshots.every):
            return known
        kept = self._snapshots.nearest(session_id, version)
        return known if kept is None or (known is not None and known.version >= kept.version) else kept

    def _remembered(self, session_id: str, version: int | None) -> Session | None:
        with self._lock:
            states = self._kept.get(session_id)
            if states is None:
                return None
            self._kept.move_to_end(session_id)
            known = max((number for number in states if version is None or number <= version), default=None)
            return None if known is None else states[known]

    def _keep(self, session_id: str, states: Iterable[Session]) -> None:
        """States at every stride, and the newest one seen."""
        with self._lock:
            known = self._kept.setdefault(session_id, {})
            known |= {state.version: state for state in states}
            newest = max(known)
            for number in [number for number in known if number % STRIDE and number != newest]:
                del known[number]
            self._kept.move_to_end(session_id)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)


def _next(session: Session | None, recorded: Recorded) -> Session:
    folded = fold(kind_of(recorded.session_id), [(recorded.event, recorded.metadata)], session)
    assert folded is not None, "a session that had an event exists"
    return folded
