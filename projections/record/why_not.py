"""Explains why a session is not in a requested state: the guards that fail, or the steps that lead there."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from domain.delivery.chart import TABLE as DELIVERY
from domain.delivery.state import Delivery, Resume
from domain.discussion.chart import TABLES
from domain.kinds import allowed_actions
from domain.orchestration.chart import TABLE as ORCHESTRATION
from domain.orchestration.state import Orchestration
from domain.session.chart import ChartTable, Edge, Guard
from domain.session.state import Session
from domain.values.words import Language, words
from projections.record.describe import ROOM
from projections.views.past import ChartStep, DirectStep, WhyNot

CHARTS: Mapping[str, ChartTable] = {"delivery": DELIVERY, "orchestration": ORCHESTRATION, **TABLES}
RESTS = frozenset({"exhausted", "failed", "partial", "checkpoint", "success", "done"})
"""The states that a session leaves only if a person acts."""


def state_name(state: str, language: Language) -> str:
    """A state in the reader's language; English has the name that the API takes."""
    return state if language == "en" else words(language, ROOM).of("session_state", state)


def why_not(session: Session, wished: str, language: Language = "en") -> WhyNot:
    """Returns whether the wished state is one step away, and what is missing: guards that fail, or more steps."""
    table = CHARTS[session.kind]
    direct = tuple(
        DirectStep(
            event=event,
            guard=edge.guard,
            holds=table.target(session.state, event, _guard(session)) == wished,
        )
        for event in table.events
        for edge in table.edges(session.state, event)
        if edge.target == wished
    )
    steps, text = _way(table, session, wished), _Text(session, language)
    return WhyNot(
        wished=wished,
        state=session.state,
        reached=session.state == wished,
        direct=direct,
        steps=steps,
        text="\n".join(filter(None, (text.verdict(wished, direct, steps), text.waiting(wished)))),
    )


def _guard(session: Session) -> Guard:
    return getattr(session, "guard", lambda _: False)


def _way(table: ChartTable, session: Session, wished: str) -> tuple[ChartStep, ...] | None:
    """The shortest path from the current state; None if there is none.

    No path leads through a stop: a session that a limit stopped continues where it was.
    """
    ways: deque[tuple[str, tuple[ChartStep, ...]]] = deque([(session.state, ())])
    seen = {session.state}
    while ways:
        here, steps = ways.popleft()
        if here == wished:
            return steps
        if here in RESTS and steps:
            continue
        for event, edge in _open(table, session, here):
            if edge.target not in seen:
                seen.add(edge.target)
                step = ChartStep(event=event, to=edge.target, guard=edge.guard or None)
                ways.append((edge.target, (*steps, step)))
    return None


def _open(table: ChartTable, session: Session, here: str) -> Iterator[tuple[str, Edge]]:
    """The steps out of a state; for the current state, those that its guards allow."""
    for event in table.events:
        for edge in table.edges(here, event):
            if here != session.state or table.target(here, event, _guard(session)) == edge.target:
                yield event, edge


class _Text:
    """The same in words."""

    def __init__(self, session: Session, language: Language) -> None:
        self._session, self._language = session, language
        self._say = words(language, ROOM)

    def _step(self, step: ChartStep) -> str:
        event = self._say.of("session_way", step.event)
        return self._say.fill("why_not.step", {"event": event, "state": self._state(step.to)})

    def verdict(self, wished: str, direct: Sequence[DirectStep], steps: Sequence[ChartStep] | None) -> str:
        state, target = self._state(self._session.state), self._state(wished)
        if self._session.state == wished:
            return self._say.fill("why_not.is", {"state": target})
        way = " → ".join(self._step(step) for step in steps or ())
        lacking = [edge.guard for edge in direct if not edge.holds and edge.guard]
        if lacking and not any(edge.holds for edge in direct):
            looked = "; ".join(dict.fromkeys(filter(None, (self._looked(guard) for guard in lacking))))
            values = {
                "wished": target,
                "guards": ", ".join(lacking),
                "looked": f" ({looked})" if looked else "",
                "way": f" {self._say.fill('why_not.way', {'way': way})}" if way else "",
            }
            return self._say.fill("why_not.guarded", values)
        if steps is None:
            return self._say.fill("why_not.unreachable", {"wished": target, "state": state})
        return self._say.fill("why_not.steps", {"state": state, "wished": target, "way": way})

    def waiting(self, wished: str) -> str:
        """Returns who has to act to reach the wished state."""
        session = self._session
        if session.state == wished:
            return ""
        busy = [f"{turn.agent} ({turn.turn_id})" for turn in session.outstanding.values() if turn.work != "wait"]
        waited = [*busy, *session.open_children]
        if waited:
            return self._say.fill("why_not.waits_for", {"names": ", ".join(waited)})
        rests = session.held or session.state in RESTS or session.state == "waiting_for_decision"
        actions = allowed_actions(session) if rests else ()
        return self._say.fill("why_not.waits_for_person", {"actions": ", ".join(actions)}) if actions else ""

    def _state(self, state: str) -> str:
        return state_name(state, self._language)

    def _looked(self, guard: str) -> str:
        """The inputs of a guard, as a text."""
        session, say = self._session, self._say
        match session:
            case Delivery(resume=Resume() as resume) if guard.startswith("resumes_"):
                return say.fill("why_not.stopped_in", {"state": self._state(resume.phase), "n": resume.iteration})
            case Orchestration() if guard == "nothing_left":
                left = [
                    say.fill("why_not.left_step", {"agent": agent.agent, "n": agent.current_phase})
                    for agent in session.resumed()
                    if not agent.completed
                ]
                return say.fill("why_not.left", {"steps": ", ".join(left)}) if left else ""
            case Orchestration() if guard in ("has_worked", "has_changed_directly"):
                return ""
            case Orchestration() if guard == "answers_directly":
                return say.fill("why_not.mode", {"mode": session.mode, "n": len(session.agents)})
            case Orchestration():
                reason = say.of("reason", str(session.partial_reason))
                return say.fill("why_not.stopped_for", {"reason": reason, "n": len(session.agents)})
            case _:
                return ""
