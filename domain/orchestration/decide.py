"""What an orchestration answers to a command: events, or a refusal (S0, S1, S3; behaviour §1; K-1…K-23)."""

from domain.base import Command, Refused
from domain.orchestration import planning, rounds
from domain.orchestration.chart import TABLE
from domain.orchestration.commands import (
    AddRounds,
    ClearAgentSessions,
    ContinueOrchestration,
    ResetOrchestration,
    StartOrchestration,
)
from domain.orchestration.events import Continued, OrchestrateDone, RoundsAdded, SessionStarted, Signals, WasReset
from domain.orchestration.parts import OrchestrationDraft, next_state
from domain.orchestration.state import Orchestration
from domain.session import cancel_turns, clear_agents
from domain.triage import triage
from domain.turns import RecordReply

TRIAGE = "seed-ko@1"
NOTHING_TO_CONTINUE = "이어갈 worklog가 없습니다. (There is nothing to continue.)"
RESET_DONE = "유저 요청으로 페이즈 리셋됨."


def decide(draft: OrchestrationDraft, command: Command) -> None:
    """Record into the draft what the command leads to; raises Refused where the orchestration does not allow it."""
    match command:
        case StartOrchestration():
            _start(draft, command)
        case RecordReply():
            _record_reply(draft, command)
        case ContinueOrchestration():
            _continue(draft)
        case ResetOrchestration():
            _reset(draft, command)
        case AddRounds():
            _add_rounds(draft, command)
        case ClearAgentSessions():
            clear_agents(draft, "a new request begins clean")
        case _:
            raise Refused(f"An orchestration does not know the command {type(command).__name__}.")


def available(session: Orchestration) -> tuple[str, ...]:
    """What a person may do now, by the names of the doors (contract §2)."""
    allowed = TABLE.allowed(session.state, session.guard)
    doors = {"resume": ("continue",), "discard": ("reset", "cancel"), "extend": ("extend",)}
    return tuple(door for event, names in doors.items() if event in allowed for door in names)


def _start(draft: OrchestrationDraft, command: StartOrchestration) -> None:
    if draft.before is not None:
        raise Refused("This session has already started.", allowed=available(draft.session))
    opening = command.opening
    found = triage(opening.prompt, TRIAGE)
    wanted = {"auto": found.orchestrate, "orchestrate": True, "direct": False}[opening.triage]
    planned = wanted and bool(opening.employees)
    state = TABLE.initial
    if not planned:
        state = TABLE.next(state, "skip_planning", lambda _: False, sentence="Planning can always be skipped.")
    draft.record(
        SessionStarted(
            message="A request came in.",
            state=state,
            opening=opening,
            mode="orchestrated" if planned else "direct",
            triage=Signals(orchestrate=found.orchestrate, signals=found.signals, policy=TRIAGE),
        )
    )
    clear_agents(draft, "a new request begins clean")
    planning.ask(draft)


def _record_reply(draft: OrchestrationDraft, command: RecordReply) -> None:
    match draft.session.turn(command.turn_id).role:
        case "planner" | "assistant":
            planning.record(draft, command)
        case "judge":
            rounds.record_verdict(draft, command)
        case _:
            rounds.record_work(draft, command)


def _continue(draft: OrchestrationDraft) -> None:
    """A paused or partial run goes on from its cursor (K-7, K-9); what is done or reset does not."""
    session = draft.session
    if session.guard("nothing_left"):
        return rounds.complete(draft, draft.text("모든 작업이 이미 완료되었습니다."), all_done=False)
    sentence = f"{NOTHING_TO_CONTINUE} An orchestration that is {session.status} cannot be continued."
    state = next_state(draft, "resume", sentence=sentence)
    draft.record(
        Continued(
            message="Continued.",
            state=state,
            round=session.round,
            agents=session.resumed(),
            last_round=session.round + session.max_rounds,
            origin=session.origin,
        )
    )
    if state == "working":
        return rounds.begin(draft)
    return planning.ask(draft)


def _reset(draft: OrchestrationDraft, command: ResetOrchestration) -> None:
    session = draft.session
    sentence = f"리셋할 worklog가 없습니다. An orchestration that is {session.status} cannot be reset."
    state = next_state(draft, "discard", sentence=sentence)
    cancel_turns(draft, "reset")
    summary = draft.text(RESET_DONE)
    draft.record(
        WasReset(
            message=command.reason or RESET_DONE,
            state=state,
            round=session.round,
            reason=command.reason,
            origin=session.origin,
            summary=summary,
        )
    )
    clear_agents(draft, "reset")
    draft.record(
        OrchestrateDone(message=RESET_DONE, round=session.round, text=summary, origin=session.origin, status="reset")
    )


def _add_rounds(draft: OrchestrationDraft, command: AddRounds) -> None:
    session = draft.session
    next_state(draft, "extend", sentence=f"Rounds cannot be added to an orchestration that is {session.status}.")
    last = session.last_round + command.add_rounds
    draft.record(
        RoundsAdded(
            message=f"{command.add_rounds} more rounds: {command.reason}",
            round=session.round,
            add_rounds=command.add_rounds,
            last_round=last,
            why=command.reason,
        )
    )
