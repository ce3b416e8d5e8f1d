"""What each agent did: when it worked, in a lane on the clock of the session, with one for people; and every verdict on
its phases in a cell, linked to its event. An agent's own claims look different."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from api.web.model import clock, seconds_or_clock
from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext
from api.web.session.turns import TurnCard, report_of, turns_of
from domain.orchestration.state import Orchestration
from domain.values.base import iso
from domain.values.phases import PHASES, AgentPhases, phase_name
from projections.record.trail import ClaimMark, Verdict
from projections.record.turns import TRIED, Attempt

WIDTH, HEAD, LANE, NAMES = 1_360, 22, 26, 150
"""Of the drawing, of its clock, of a lane, and the room for the names of lanes."""
LANES, BARS, TICKS = 14, 300, 6
ROOM: Final = 30
"""So wide is a bar that has its turn written in it, at least."""
FINEST: Final = ((TICKS * 60_000, "second"), (24 * 3_600_000, "minute"), (math.inf, "day"))
"""What the clock of a drawing shows, by how long it is: below six minutes seconds, beyond a day the day."""
BY_PEOPLE: Final = frozenset(
    {"exhausted", "checkpoint", "partial", "waiting_for_decision", "under_review", "awaiting_scope", "failed"}
)
"""States in which a person is waited for."""
PROVIDERS: Final = frozenset({"rate_limit", "overloaded"})
CHOICES: Final = frozenset(
    {
        "delivery.budget_extended",
        "delivery.retried",
        "orchestration.continued",
        "orchestration.retried",
        "orchestration.rounds_added",
        "session.child_closed",
        "session.scope_decided",
        "turn.permission_decided",
        "decision.voted",
        "review.decided",
        "debate.decided",
    }
)
"""Events by which a person, or the time that they were given, decided something."""


@dataclass(slots=True)
class GanttBar:
    """A stretch of time of one kind: at work, waiting for a provider, waiting for a person."""

    begin: int
    end: int
    kind: str
    turn: str = ""
    label: str = ""
    words: str = ""


@dataclass(slots=True)
class GanttLane:
    name: str
    role: str = ""
    bars: list[GanttBar] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)
    """Decisions: when, and by which event."""


def gantt(context: PanelContext) -> dict[str, Any]:
    """Nothing before anybody has worked for as long as the clock can show."""
    trail = context.trail
    begin, end = trail.at[0], trail.at[context.version - 1]
    lanes = [lane for lane in _lanes(context, end) if lane.bars or lane.marks]
    whole = end - begin
    if not lanes or whole <= 0:
        return {}

    name = seconds_or_clock if whole < 10_000 else clock

    def x(at: int) -> float:
        return round(NAMES + (min(max(at, begin), end) - begin) / whole * (WIDTH - NAMES), 1)

    return {
        "width": WIDTH,
        "height": HEAD + LANE * len(lanes),
        "names": NAMES,
        "time": seconds_or_clock(whole),
        "ticks": [
            {"x": x(at), "since": name(at - begin), "at": iso(at)}
            for at in (begin + whole * step // TICKS for step in range(TICKS))
        ],
        "finest": next(unit for most, unit in FINEST if whole < most),
        "lanes": [
            {
                "y": HEAD + LANE * place,
                "name": cut(lane.name, 18),
                "role": cut(lane.role, 14),
                "bars": [_drawn(bar, x(bar.begin), x(bar.end)) for bar in lane.bars[-BARS:]],
                "marks": list({round(x(at)): (x(at), version) for at, version in lane.marks}.values())[-BARS:],
            }
            for place, lane in enumerate(lanes[:LANES])
        ],
        "more": max(0, len(lanes) - LANES),
        "kinds": sorted({bar.kind for lane in lanes for bar in lane.bars}),
        "decided": any(lane.marks for lane in lanes),
    }


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
        "mode": session.mode,
        "signals": session.triage.signals[:20],
    }


def _drawn(bar: GanttBar, begin: float, end: float) -> dict[str, Any]:
    width = round(max(2.0, end - begin), 1)
    return {
        "x": min(begin, WIDTH - width),
        "width": width,
        "kind": bar.kind,
        "turn": bar.turn,
        "label": bar.label if width >= ROOM else "",
        "words": f"{bar.words} {seconds_or_clock(bar.end - bar.begin)}".strip(),
    }


def _lanes(context: PanelContext, end: int) -> list[GanttLane]:
    """In the order in which they began; people come last."""
    lanes: dict[str, GanttLane] = {}
    for turn in turns_of(context):
        if turn.entry.work == "package":
            continue
        validates = turn.entry.work in ("validate", "prepare")
        name = "" if validates else turn.entry.agent
        lane = lanes.setdefault(name, GanttLane(name, "" if validates else turn.entry.role))
        lane.bars += _bars(context, turn, end)
    return [*lanes.values(), _people(context, end)]


def _bars(context: PanelContext, turn: TurnCard, end: int) -> Iterator[GanttBar]:
    """Each attempt, and the waits between them."""
    label, entry = f"T{turn.number}", turn.entry
    attempts = [attempt for attempt in entry.attempts if attempt.version <= context.version]
    before = entry.requested_at
    for place, attempt in enumerate(attempts):
        begin = max(before, attempt.ended_at - round(attempt.seconds * 1000))
        if place:
            yield GanttBar(before, begin, _waited(attempts[place - 1]), turn.id, "", label)
        last = attempt is attempts[-1]
        kind = _verdict(context, turn, attempt) if last else "bad"
        yield GanttBar(begin, attempt.ended_at, kind, turn.id, label if last else "", label)
        before = attempt.ended_at
    if turn.open:
        waits = bool(attempts) and attempts[-1].outcome == TRIED
        yield GanttBar(before, end, _waited(attempts[-1]) if waits else "run", turn.id, label, label)


def _waited(attempt: Attempt) -> str:
    return "provider" if attempt.failure in PROVIDERS else "pause"


def _verdict(context: PanelContext, turn: TurnCard, attempt: Attempt) -> str:
    """Red and green for what was judged, as far as the turn itself says."""
    if attempt.outcome != "answered":
        return "bad"
    if turn.entry.work != "validate":
        return "work"
    ran = report_of(context, turn)
    return "work" if ran is None else "good" if ran["passed"] else "bad"


def _people(context: PanelContext, end: int) -> GanttLane:
    """When a person was waited for, and what was decided."""
    trail, lane = context.trail, GanttLane("you")
    steps = context.past(trail.steps)
    for place, step in enumerate(steps):
        if step.state not in BY_PEOPLE:
            continue
        last = place + 1 == len(steps)
        if last and not (context.needs_somebody or step.state == "under_review"):
            continue
        until = end if last else trail.at[steps[place + 1].version - 1]
        lane.bars.append(GanttBar(trail.at[step.version - 1], until, "you"))
    entries: Sequence[Any] = context.record.entries[: context.version]
    lane.marks = [(entry.at, entry.version) for entry in entries if entry.topic in CHOICES]
    return lane


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
        "stands": not agent.completed and not session.ended and agent.current_phase == phase,
    }


def _judged_since(claim: ClaimMark, verdicts: Sequence[Verdict]) -> bool:
    return any(verdict.version > claim.version for verdict in verdicts)
