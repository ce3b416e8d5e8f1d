"""Shows what each agent came to: every verdict on its phases in a cell, linked to its event. An agent's own claims look
different."""

from collections.abc import Sequence
from typing import NamedTuple

from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext
from domain.orchestration.state import Orchestration
from domain.values.phases import PHASES, AgentPhases, phase_name
from projections.record.trail import ClaimMark, Verdict

AGENTS = 60
VERDICTS = 3
"""Verdicts in one cell; of more the first and the last are shown, and how many are between them."""


class CellVerdict(NamedTuple):
    version: int
    round: int
    passed: bool
    by: str
    feedback: str


class MatrixCell(NamedTuple):
    """`state`: passed, failed, current, open, or outside of what the agent goes through. `claims` are events."""

    phase: int
    state: str
    verdicts: Sequence[CellVerdict]
    between: int
    claims: Sequence[int]
    here: bool


class SentBack(NamedTuple):
    """The verdict that sent an agent back."""

    version: int
    round: int
    phase: str
    phase_ko: str


class MatrixRow(NamedTuple):
    """An agent; `session` is the handle of its conversation."""

    name: str
    role: str
    task: str
    gate: str
    checkpoint: bool
    parallel: bool
    session: str
    cells: Sequence[MatrixCell]
    criteria: str
    failed: bool
    back: SentBack | None
    feedback: str


class PhaseHead(NamedTuple):
    number: int
    ko: str
    en: str


class Matrix(NamedTuple):
    """`planned` is the event that made the plan."""

    phases: Sequence[PhaseHead]
    agents: Sequence[MatrixRow]
    more: int
    plan_version: int
    planned: int
    needs_no_plan: bool
    signals: Sequence[str]


def matrix(context: PanelContext) -> Matrix:
    session = context.session
    assert isinstance(session, Orchestration)
    planned = (context.where(context.trail.plans) or [0])[-1]
    verdicts = [mark for mark in context.past(context.trail.verdicts) if mark.version > planned]
    claims = [mark for mark in context.past(context.trail.claims) if mark.version > planned]
    return Matrix(
        phases=[PhaseHead(number, phase_name(number), phase_name(number, "en")) for number in PHASES],
        agents=[_agent(session, index, agent, verdicts, claims) for index, agent in enumerate(session.agents[:AGENTS])],
        more=max(0, len(session.agents) - AGENTS),
        plan_version=session.plan_version,
        planned=planned,
        needs_no_plan=session.mode == "direct" or session.state == "done",
        signals=session.triage.signals[:20],
    )


def _agent(
    session: Orchestration,
    index: int,
    agent: AgentPhases,
    verdicts: Sequence[Verdict],
    claims: Sequence[ClaimMark],
) -> MatrixRow:
    own_verdicts = [mark for mark in verdicts if mark.place == index]
    claimed = [mark for mark in claims if mark.place == index]
    report = session.reports.get(index)
    return MatrixRow(
        name=cut(agent.agent, 60),
        role=cut(agent.role, 40),
        task=cut(agent.task, SENTENCE),
        gate=_gate(session, agent),
        checkpoint=agent.checkpoint or agent.checkpointed,
        parallel=agent.parallel,
        session=cut(session.thread(agent.agent, agent.role) or "", 60),
        cells=[_cell(session, agent, phase, own_verdicts, claimed) for phase in PHASES],
        criteria=cut((agent.verification.pass_criteria if agent.verification else "") or "", SENTENCE),
        failed=bool(report and report.result == "error"),
        back=None if agent.completed else _sent_back(own_verdicts),
        feedback=cut(agent.history[-1].feedback if agent.history else "", SENTENCE),
    )


def _sent_back(verdicts: Sequence[Verdict]) -> SentBack | None:
    """The last verdict, where it sent the agent back."""
    last = verdicts[-1] if verdicts else None
    if last is None or last.passed:
        return None
    phase = last.phases[-1]
    return SentBack(
        version=last.version,
        round=last.round,
        phase=phase_name(phase, "en"),
        phase_ko=phase_name(phase),
    )


def _gate(session: Orchestration, agent: AgentPhases) -> str:
    if agent.completed:
        return "completed"
    if session.ended or session.state == "partial":
        return "stopped"
    return "paused" if session.state == "checkpoint" and agent.checkpointed else "active"


def _cell(
    session: Orchestration,
    agent: AgentPhases,
    phase: int,
    own_verdicts: Sequence[Verdict],
    claimed: Sequence[ClaimMark],
) -> MatrixCell:
    here = [mark for mark in own_verdicts if phase in mark.phases]
    current = not agent.completed and agent.current_phase == phase and session.status == "active"
    verdicts = [
        CellVerdict(
            version=mark.version,
            round=mark.round,
            passed=mark.passed,
            by=mark.by,
            feedback=cut(mark.feedback, SENTENCE),
        )
        for mark in (here if len(here) <= VERDICTS else (here[0], here[-1]))
    ]
    outside = phase not in agent.phase_profile and not here
    last = "passed" if here and here[-1].passed else "failed" if here else ""
    state = "current" if current else last or ("outside" if outside else "open")
    unjudged = [mark for mark in claimed if phase in mark.phases and not _judged_since(mark, here)]
    return MatrixCell(
        phase=phase,
        state=state,
        verdicts=verdicts,
        between=len(here) - 2 if len(here) > VERDICTS else 0,
        claims=[mark.version for mark in unjudged[-1:]],
        here=not agent.completed and not session.ended and agent.current_phase == phase,
    )


def _judged_since(claim: ClaimMark, verdicts: Sequence[Verdict]) -> bool:
    return any(verdict.version > claim.version for verdict in verdicts)
