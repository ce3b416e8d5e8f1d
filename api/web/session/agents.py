"""What each agent came to: every verdict on its phases in a cell, linked to its event. An agent's own claims look
different."""

from collections.abc import Sequence
from typing import Any

from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext
from domain.orchestration.state import Orchestration
from domain.values.phases import PHASES, AgentPhases, phase_name
from projections.record.trail import ClaimMark, Verdict

AGENTS = 60
VERDICTS = 3
"""Verdicts in one cell; of more the first and the last are shown, and how many are between them."""


def matrix(context: PanelContext) -> dict[str, Any]:
    session = context.session
    assert isinstance(session, Orchestration)
    planned = (context.where(context.trail.plans) or [0])[-1]
    verdicts = [mark for mark in context.past(context.trail.verdicts) if mark.version > planned]
    claims = [mark for mark in context.past(context.trail.claims) if mark.version > planned]
    return {
        "phases": [{"number": number, "ko": phase_name(number), "en": phase_name(number, "en")} for number in PHASES],
        "agents": [
            _agent(session, index, agent, verdicts, claims) for index, agent in enumerate(session.agents[:AGENTS])
        ],
        "more": max(0, len(session.agents) - AGENTS),
        "plan_version": session.plan_version,
        "planned": planned,
        "needs_no_plan": session.mode == "direct" or session.state == "done",
        "signals": session.triage.signals[:20],
    }


def _agent(
    session: Orchestration,
    index: int,
    agent: AgentPhases,
    verdicts: Sequence[Verdict],
    claims: Sequence[ClaimMark],
) -> dict[str, Any]:
    own_verdicts = [mark for mark in verdicts if mark.place == index]
    claimed = [mark for mark in claims if mark.place == index]
    report = session.reports.get(index)
    return {
        "name": cut(agent.agent, 60),
        "role": cut(agent.role, 40),
        "task": cut(agent.task, SENTENCE),
        "gate": _gate(session, agent),
        "checkpoint": agent.checkpoint or agent.checkpointed,
        "parallel": agent.parallel,
        "session": cut(session.thread(agent.agent, agent.role) or "", 60),
        "cells": [_cell(session, agent, phase, own_verdicts, claimed) for phase in PHASES],
        "criteria": cut((agent.verification.pass_criteria if agent.verification else "") or "", SENTENCE),
        "failed": bool(report and report.result == "error"),
        "back": None if agent.completed else _sent_back(own_verdicts),
        "feedback": cut(agent.history[-1].feedback if agent.history else "", SENTENCE),
    }


def _sent_back(verdicts: Sequence[Verdict]) -> dict[str, Any] | None:
    """The last verdict, where it sent the agent back."""
    last = verdicts[-1] if verdicts else None
    if last is None or last.passed:
        return None
    phase = last.phases[-1]
    return {
        "version": last.version,
        "round": last.round,
        "phase": phase_name(phase, "en"),
        "phase_ko": phase_name(phase),
    }


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
) -> dict[str, Any]:
    """`state`: passed, failed, current, open, or outside of what the agent goes through."""
    here = [mark for mark in own_verdicts if phase in mark.phases]
    current = not agent.completed and agent.current_phase == phase and session.status == "active"
    verdicts = [
        {
            "version": mark.version,
            "round": mark.round,
            "passed": mark.passed,
            "by": mark.by,
            "feedback": cut(mark.feedback, SENTENCE),
        }
        for mark in (here if len(here) <= VERDICTS else (here[0], here[-1]))
    ]
    outside = phase not in agent.phase_profile and not here
    last = "passed" if here and here[-1].passed else "failed" if here else ""
    state = "current" if current else last or ("outside" if outside else "open")
    unjudged = [mark for mark in claimed if phase in mark.phases and not _judged_since(mark, here)]
    return {
        "phase": phase,
        "state": state,
        "verdicts": verdicts,
        "between": len(here) - 2 if len(here) > VERDICTS else 0,
        "claims": [mark.version for mark in unjudged[-1:]],
        "here": not agent.completed and not session.ended and agent.current_phase == phase,
    }


def _judged_since(claim: ClaimMark, verdicts: Sequence[Verdict]) -> bool:
    return any(verdict.version > claim.version for verdict in verdicts)
