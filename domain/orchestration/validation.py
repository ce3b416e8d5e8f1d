"""The validation of a run: a baseline beside the plan, the commands on the work of each round, and whose work fails
(contract-3 §17)."""

from collections.abc import Generator
from typing import Final, get_args

from domain.delivery.commands import RecordBaseline
from domain.delivery.validation import flaky_words, new_failures, red, unready, weaker_words
from domain.orchestration.commands import RecordRound
from domain.orchestration.endings import Run, stop
from domain.orchestration.events import BrokenBy, RoundValidated, RunBaselineRecorded
from domain.orchestration.state import Orchestration
from domain.session.attempts import Failure, Unready
from domain.session.decision import Events, cancel_turns, end_attempt
from domain.session.turns import TurnAnswered, TurnFailed
from domain.values.base import DomainEvent

UNREADY: Final = frozenset(get_args(Unready))


def record_baseline(now: Run, command: RecordBaseline) -> Events:
    """Record what the commands gave before any change. If the validation would prove nothing, the run stops: an agent
    that is being asked is called off."""
    baseline = command.baseline
    event = end_attempt(now, command, command.failure or unready(baseline))
    yield event
    if command.failure is None:
        fields = {name: getattr(baseline, name) for name in type(baseline).model_fields}
        yield RunBaselineRecorded(message="Baseline recorded.", round=now.state.round, **fields)
    if isinstance(event, TurnFailed) and now.state.state in ("planning", "working"):
        yield from cancel_turns(now, "the validation would prove nothing")
        yield from stop_unready(now, event.failure, reported=command.failure is not None)


def stop_unready(now: Run, failure: Failure, *, reported: bool) -> Events:
    """Stop because the commands cannot run; a retry runs them again."""
    return stop(now, "turn_failed" if reported else failure.code, failure.why or failure.code)


def record_round(now: Run, command: RecordRound) -> Generator[DomainEvent, None, bool]:
    """Record what the commands give for the work as it is now. Returns whether that is known; if the commands could
    not run, the run stops, and a retry runs them again."""
    run = now.state
    event = end_attempt(now, command, command.failure)
    yield event
    if isinstance(event, TurnFailed):
        yield from stop_unready(now, event.failure, reported=event.failure.code not in UNREADY)
    if not isinstance(event, TurnAnswered):
        return False
    fresh = _new(run, command)
    yield RoundValidated(
        message="Validation passed." if command.passed else f"Validation failed, with {len(fresh)} new failures.",
        role="test",
        round=run.round,
        passed=command.passed,
        summary=command.summary,
        sentence=command.sentence,
        reasons=command.reasons,
        new_failures=fresh,
        flaky=command.flaky,
        weakened=command.weakened,
        no_tests=command.no_tests,
        clean_room=command.clean_room,
        coverage=command.coverage,
        broken=_broken(run, command, fresh),
        earlier=command.earlier,
        report=command.report,
    )
    return True


def _new(run: Orchestration, command: RecordRound) -> tuple[str, ...]:
    """The failures that are new. A direct answer has no baseline: its base tree was checked beside it."""
    if run.agents:
        return new_failures(command.reasons, run.baseline)
    before = {reason for each in command.earlier for reason in each.reasons}
    return tuple(reason for reason in command.reasons if reason not in before)


def _broken(run: Orchestration, command: RecordRound, fresh: tuple[str, ...]) -> tuple[BrokenBy, ...]:
    """The agents that brought the new failures: those that had brought them before, else the agent whose tree is the
    first of the round to show them, in the order of merging.
    """
    by: dict[int, list[str]] = {}
    for reason in fresh:
        place = _place(run, command, reason)
        if place is not None:
            by.setdefault(place, []).append(reason)
    return tuple(
        BrokenBy(index=place, agent=run.agents[place].agent, reasons=tuple(reasons))
        for place, reasons in sorted(by.items())
    )


def _place(run: Orchestration, command: RecordRound, reason: str) -> int | None:
    earlier = next((place for place, reasons in run.broken.items() if reason in reasons), None)
    if earlier is not None:
        return earlier
    shown = {each.tree: each.reasons for each in command.earlier}
    places = list(run.trees.items())
    first = next((place for place, tree in places if reason in shown.get(tree, ())), None)
    return first if first is not None else places[-1][0] if places else next(iter(run.active), None)


# -- what agents read of it ------------------------------------------------------------------------------------------


def for_the_judge(run: Orchestration) -> str:
    """The result of this round's validation; empty where there was none."""
    if not run.check:
        return ""
    doubts = [flaky_words(run.flaky.values()), weaker_words(run.weakened)]
    lines = [f"- {reason}" for reason in run.failures]
    new = "\n".join(["These failures were not there before any change:", *lines]) if lines else ""
    before = red(run.baseline) if run.baseline else ""
    return "\n\n".join(filter(None, (*doubts, "Validation of the work of this round:", run.check, new, before)))


def for_agents(run: Orchestration) -> str:
    """The text for an agent that changed files, while there are new failures."""
    lines = [f"- {reason}" for reason in run.failures]
    head = "The validation commands fail on the work of all agents together. These failures are new:"
    return "\n".join([head, *lines]) if lines else ""
