"""Why a session is in its state, as a chain of causes from the commands; and what a wished state lacks."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from domain.chart import Table
from domain.delivery.chart import TABLE as DELIVERY
from domain.discussion.chart import TABLES
from domain.instant import iso
from domain.orchestration.chart import TABLE as ORCHESTRATION
from domain.reconstruction import Decision, decisions
from domain.record import Recorded
from domain.session import Session
from projections.sentences import message

CHARTS: Mapping[str, Table] = {"delivery": DELIVERY, "orchestration": ORCHESTRATION, **TABLES}

INPUTS = (
    *("elapsedMs", "remainingIterations", "reason", "iteration", "phase", "round"),
    *("metrics", "pass", "allDone", "choice", "classification", "score", "errorType", "expiresAt"),
)
"""What the rules looked at, as the events have it."""


def explain(history: Sequence[Recorded], session: Session) -> dict[str, Any]:
    """The commands that led to the newest change of state, first cause first, and what each decided on what."""
    owner = {recorded.event_id: decision for decision in decisions(history) for recorded in decision.recorded}
    moved = [recorded for recorded in history if hasattr(recorded.event, "state")]
    chain: deque[dict[str, Any]] = deque()
    at = owner.get((moved or list(history))[-1].event_id)
    while at is not None:
        chain.appendleft(_link(at))
        at = owner.get(at.recorded[0].cause.causation_id)
    return {
        "sessionId": session.id,
        "kind": session.kind,
        "version": session.version,
        "state": session.state,
        "chain": list(chain),
        "text": "\n".join(_sentence(link) for link in chain),
    }


def _link(decision: Decision) -> dict[str, Any]:
    """One command: who gave it, because of what, and what it led to."""
    first = decision.recorded[0]
    return {
        "version": first.version,
        "timestamp": iso(first.at),
        "actor": first.cause.actor,
        "commandId": first.cause.command_id,
        "causationId": first.cause.causation_id,
        "events": [_told_event(recorded) for recorded in decision.recorded],
    }


def _told_event(recorded: Recorded) -> dict[str, Any]:
    data = recorded.event.model_dump(mode="json", by_alias=True)
    return {
        "version": recorded.version,
        "type": recorded.event.TOPIC,
        "message": message(recorded.event),
        "state": data.get("state"),
        "inputs": {name: data[name] for name in INPUTS if data.get(name) is not None},
    }


def _sentence(link: dict[str, Any]) -> str:
    """The events of a link that decide something; a link without one is told by its first event."""
    deciding = [event for event in link["events"] if event["state"] or "pass" in event["inputs"]] or link["events"][:1]
    return "\n".join(f"{event['version']}. {link['actor']}: {_event_sentence(event)}" for event in deciding)


def _event_sentence(event: dict[str, Any]) -> str:
    inputs = ", ".join(f"{name}={value}" for name, value in event["inputs"].items())
    led = f" → {event['state']}" if event["state"] else ""
    return f"{event['message']}{led}" + (f" ({inputs})" if inputs else "")


def why_not(session: Session, wished: str) -> dict[str, Any]:
    """Whether the wished state is one step away, and what stands between: guards that do not hold, or steps to come."""
    table = CHARTS[session.kind]
    guard = getattr(session, "guard", lambda _: False)
    direct = [
        {"event": event, "guard": edge.guard, "holds": edge.guard is None or bool(guard(edge.guard))}
        for event in table.events
        for edge in table.edges(session.state, event)
        if edge.target == wished
    ]
    steps = _way(table, session.state, wished)
    return {
        "wished": wished,
        "state": session.state,
        "reached": session.state == wished,
        "direct": direct,
        "steps": steps,
        "text": _told(session.state, wished, direct, steps),
    }


def _way(table: Table, state: str, wished: str) -> list[dict[str, str]] | None:
    """The shortest way through the chart; None where there is none."""
    ways: deque[tuple[str, list[dict[str, str]]]] = deque([(state, [])])
    seen = {state}
    while ways:
        here, steps = ways.popleft()
        if here == wished:
            return steps
        for event in table.events:
            for edge in table.edges(here, event):
                if edge.target not in seen:
                    seen.add(edge.target)
                    step = {"event": event, "to": edge.target} | ({"guard": edge.guard} if edge.guard else {})
                    ways.append((edge.target, [*steps, step]))
    return None


def _told(state: str, wished: str, direct: Sequence[dict[str, Any]], steps: Sequence[dict[str, str]] | None) -> str:
    if state == wished:
        return f"It is {wished}."
    if steps is None:
        return f"From {state} no way leads to {wished}."
    lacking = [found["guard"] for found in direct if not found["holds"]]
    if lacking and not any(found["holds"] for found in direct):
        return f"{wished} is one step away, but {', '.join(lacking)} does not hold."
    way = " → ".join(f"{step['event']} to {step['to']}" for step in steps)
    return f"From {state}, {wished} needs: {way}."
