"""The public view of a session (contract §2, Views), now or at any version."""

from typing import Any

from domain.delivery.chart import PHASES
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion, RoundContribution
from domain.orchestration.state import Orchestration, subtask_id
from domain.session.attempts import Outstanding
from domain.session.permissions import PermissionQuestion
from domain.session.revisions import Revision
from domain.session.state import Session
from domain.values.base import iso
from domain.values.phases import AgentPhases, phase_name
from domain.values.sentences import coded
from projections.record.markdown import one_line
from projections.record.results import result_of
from projections.views.base import ApprovalView, PermissionRequestView, RevisionView, approval_view, vote_views
from projections.views.session import (
    GATES,
    AgentStatus,
    AgentView,
    BudgetView,
    DebateView,
    DecisionCommentView,
    DecisionView,
    DeliveryView,
    EmployeeView,
    OrchestrationView,
    PlannedCommand,
    ReportView,
    ReviewView,
    RoundView,
    ScopeRequestView,
    SessionView,
    SynthesisView,
    TriageView,
    TurnView,
)

TITLE, LONGEST_TITLE = 80, 200
"""The most characters of a title that is made of the task, and of a title as given."""


def title_of(title: str, task: str) -> str:
    """The given title, otherwise the first line of the task; of that, 80 characters."""
    if title.strip():
        return one_line(title, LONGEST_TITLE)
    line = one_line(next(filter(str.strip, task.splitlines()), ""), TITLE + 1)
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def view(session: Session) -> SessionView:
    """A pure function of the session at its version: `elapsedMs` is as of its last event, not of the clock."""
    match session:
        case Delivery():
            return _delivery(session)
        case Orchestration():
            return _orchestration(session)
        case Discussion():
            return _discussion(session)
        case _:
            return SessionView(**_common(session, ""))


def _common(session: Session, task: str) -> dict[str, Any]:
    """The fields that every kind has."""
    asking = {question.turn_id for question in session.questions.values()}
    turns = (turn_view(turn, asks=turn.turn_id in asking) for turn in session.outstanding.values())
    return {
        "id": session.id,
        "kind": session.kind,
        "status": session.status,
        "title": title_of(session.title, task),
        "version": session.version,
        "created_at": iso(session.created_at),
        "updated_at": iso(session.updated_at),
        "origin": session.origin,
        "labels": session.labels,
        "parent": session.parent,
        "children": session.children,
        "forked_from": session.forked_from,
        "forked_at": session.forked_at,
        "held": session.held,
        "outstanding_turns": tuple(turns),
        "last_error": session.last_error,
        "last_error_sentence": coded(session.last_error),
        "scripted": session.scripted or None,
        "workspace": session.workspace,
        "fence": session.fence,
        "fence_gaps": session.fence_gaps,
        "refused_hosts": session.refused_hosts,
        "revisions": tuple(map(_revision, session.revisions)) or None,
        "permission_requests": tuple(map(_permission_request, session.questions.values())) or None,
    }


def _is_in_place(session: Delivery | Orchestration) -> bool:
    """Returns whether agents edit the person's own folder, which has no git."""
    return session.workspace is not None and not session.repository


def _revision(revision: Revision) -> RevisionView:
    return RevisionView(revision_id=revision.revision_id, by=revision.by, at=iso(revision.at), status=revision.status)


def _permission_request(question: PermissionQuestion) -> PermissionRequestView:
    fields = question._asdict()
    return PermissionRequestView(since=iso(fields.pop("at")), **fields)


def turn_view(turn: Outstanding, *, asks: bool = False) -> TurnView:
    """An outstanding turn; `asks`: its agent waits for permission."""
    return TurnView(
        turn_id=turn.turn_id,
        work=turn.work,
        agent=turn.agent,
        role=turn.role,
        phase=turn.phase,
        round=turn.round,
        requested_at=iso(turn.requested_at),
        attempt=turn.tries.ended + 1 if turn.tries.ended else None,
        waiting_until=iso(turn.tries.until) if turn.tries.until is not None else None,
        waiting_for="permission" if asks else turn.tries.reason,
        checked_out_in=turn.tries.checked_out_in,
    )


def _delivery(delivery: Delivery) -> DeliveryView:
    return DeliveryView(
        **_common(delivery, delivery.task),
        in_place=_is_in_place(delivery) or None,
        task=delivery.task,
        file_paths=delivery.file_paths,
        validation_commands=tuple(PlannedCommand(stage=step.stage, command=step.command) for step in delivery.steps),
        max_attempts=delivery.budget.limits.max_iterations,
        current_phase=delivery.phase,
        phase_statuses={phase: delivery.phases[phase] for phase in PHASES},
        iteration=delivery.iteration,
        attempt=delivery.iteration,
        budget=_budget(delivery),
        artifact_refs={phase: delivery.artifact_refs[phase] for phase in PHASES if phase in delivery.artifact_refs},
        feedback=delivery.feedback.head or None,
        final_summary=delivery.final_summary,
        final_summary_sentence=coded(delivery.final_summary),
        result=result_of(delivery, (*delivery.file_paths, *delivery.planned), delivery.scope),
        report=report_of(delivery),
        reason=delivery.code,
        scope_request=_scope_request(delivery),
    )


def report_of(session: Session) -> ReportView | None:
    """The newest validation report; None before the first one."""
    if session.validated is None and session.proves_nothing is None:
        return None
    return ReportView(
        clean_room=session.clean_room or False,
        flaky=tuple(session.flaky.values()),
        weakened=session.weakened,
        coverage=session.coverage,
    )


def _scope_request(delivery: Delivery) -> ScopeRequestView | None:
    if (open_ := delivery.scope_request) is None:
        return None
    return ScopeRequestView(request_id=open_.request_id, paths=open_.paths, since=iso(open_.at))


def _budget(delivery: Delivery) -> BudgetView:
    """The snapshot of S4 §4.2."""
    snapshot, limits = delivery.snapshot(delivery.updated_at), delivery.budget.limits
    return BudgetView(
        max_iterations=snapshot.max_iterations,
        max_minutes=snapshot.max_minutes,
        started_at=iso(snapshot.started_at),
        deadline_at=iso(snapshot.deadline_at),
        elapsed_ms=snapshot.elapsed_ms,
        remaining_iterations=snapshot.remaining_iterations,
        reason=snapshot.reason,
        tokens=snapshot.tokens,
        cost_micros=snapshot.cost_micros,
        max_tokens=limits.max_tokens,
        max_cost_micros=limits.max_cost_micros,
        unknown_turns=delivery.spent.unknown or None,
    )


def _orchestration(session: Orchestration) -> OrchestrationView:
    return OrchestrationView(
        **_common(session, session.prompt),
        in_place=_is_in_place(session) or None,
        prompt=session.prompt,
        mode=session.mode,
        triage=TriageView(orchestrate=session.triage.orchestrate, signals=session.triage.signals),
        employees=tuple(EmployeeView(name=employee.name, role=employee.role) for employee in session.employees),
        plan=session.plan.head if session.plan else None,
        plan_version=session.plan_version,
        round=session.round,
        max_rounds=session.last_round,
        last_round=session.last_round,
        agents=tuple(_agent(session, index) for index in range(len(session.agents))),
        summary=session.summary.head if session.summary else None,
        reason=session.reason,
        warnings=tuple(map(str, session.warnings)),
        warning_sentences=tuple(map(coded, session.warnings)),
        result=result_of(session, session.affected_files, session.scope),
        report=report_of(session),
    )


def agent_status(session: Orchestration, agent: AgentPhases) -> AgentStatus:
    """An agent's status; completed wins over paused, and after a reset none is active."""
    if agent.completed:
        return "completed"
    if session.ended:
        return "stopped"
    return "paused" if session.status == "checkpoint" and agent.checkpointed else "active"


def _agent(session: Orchestration, index: int) -> AgentView:
    """One row of the seeds' Agent Status Matrix (§1.12)."""
    agent = session.agents[index]
    status = agent_status(session, agent)
    return AgentView(
        **dict(agent) | {"parallel": session.parallel[index] if session.round else agent.parallel},
        status=status,
        gate=GATES[status],
        phase_name=phase_name(agent.current_phase),
        subtask_id=subtask_id(index),
        agent_session=session.thread(agent.agent, agent.role),
    )


def _discussion(session: Discussion) -> ReviewView | DebateView:
    fields = _common(session, session.subject.head) | {
        "strategy": session.strategy,
        "max_rounds": session.max_rounds,
        "profile": session.profile.id,
        "rounds": tuple(_round(entry) for entry in session.rounds),
        "convergence": session.metrics[-1] if session.metrics else None,
        "convergence_history": session.metrics,
        "synthesis": _synthesis(session),
        "feedback": session.feedback,
        "dissent": session.dissent,
        "decision": _decision(session),
        "choices": session.choices,
        "stop_reason": session.stop_reason,
        "reason": session.reason,
        "expires_at": session.expires_at,
        "seen": session.seen if session.choices else None,
        "approval": approval_of(session),
    }
    if session.kind == "review":
        return ReviewView(**fields, subject=session.subject.head)
    return DebateView(**fields, plan=session.subject.head)


def approval_of(session: Discussion) -> ApprovalView | None:
    """Returns how the team makes the decision, while it waits."""
    if session.decisions is None or not session.choices:
        return None
    return approval_view(session.decisions, session.choices, session.votes, session.waiting_since)


def _round(entry: RoundContribution) -> RoundView:
    return RoundView(
        round=entry.round,
        role=entry.role,
        agent=entry.agent,
        content=entry.content.head,
        length=entry.content.length,
        feedback=entry.feedback,
        problem=entry.problem and str(entry.problem),
        problem_sentence=coded(entry.problem),
        stand_in=entry.stand_in,
    )


def _synthesis(session: Discussion) -> SynthesisView | None:
    if not session.synthesis:
        return None
    return SynthesisView(text=session.synthesis.head, fallback=session.fallback, counts=session.counts)


def _decision(session: Discussion) -> DecisionView | None:
    if (decision := session.decision) is None:
        return None
    return DecisionView(
        choice=decision.choice,
        actor=decision.actor,
        rationale=decision.rationale,
        at=iso(decision.at),
        expired=decision.expired,
        votes=vote_views(decision.votes),
        comments=tuple(DecisionCommentView(**dict(each)) for each in decision.comments),
    )
