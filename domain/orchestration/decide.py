"""What an orchestration answers to a command: events, or a refusal (S0, S1, S3; behaviour §1; K-1…K-23)."""

from domain.orchestration import debates, ends, judging, planning, rounds
from domain.orchestration.chart import TABLE
from domain.orchestration.commands import (
    AddRounds,
    ClearAgentSessions,
    ContinueOrchestration,
    ResetOrchestration,
    StartOrchestration,
)
from domain.orchestration.events import Continued, OrchestrateDone, RoundsAdded, SessionStarted, Signals, WasReset
from domain.orchestration.parts import OrchestrationDraft, doors
from domain.orchestration.state import Orchestration
from domain.session.actions import refusal, refuse_decision, unfit
from domain.session.children import CloseChild, Decide
from domain.session.draft import cancel_turns, clear_agents
from domain.session.turns import RecordReply
from domain.triage import triage
from domain.values.base import Command, Refused

TRIAGE = "seed-ko@1"
NOTHING_TO_CONTINUE = "이어갈 worklog가 없습니다. (There is nothing to continue.)"
NOTHING_TO_RESET = "리셋할 worklog가 없습니다. (There is nothing to reset.)"
RESET = "유저 요청으로 페이즈 리셋됨."
RESET_DONE = "페이즈 리셋 완료. 새로 시작하려면 작업을 요청하세요."
ALREADY_DONE = "모든 작업이 이미 완료되었습니다."


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
        case CloseChild():
            debates.close(draft, command)
        case Decide():
            refuse_decision(draft.session, allowed_actions(draft.session))
        case ClearAgentSessions():
            clear_agents(draft, "a new request begins clean")
        case _:
            raise unfit(draft.session, command, allowed_actions(draft.session))


def allowed_actions(session: Orchestration) -> tuple[str, ...]:
    return doors(session)


def _start(draft: OrchestrationDraft, command: StartOrchestration) -> None:
    if draft.before is not None:
        raise Refused("This session has already started.", allowed=allowed_actions(draft.session))
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
            policy=command.policy,
            opening=opening,
            mode="orchestrated" if planned else "direct",
            triage=Signals(orchestrate=found.orchestrate, signals=found.signals, policy=TRIAGE),
        )
    )
    clear_agents(draft, "a new request begins clean")
    planning.ask(draft)


def _record_reply(draft: OrchestrationDraft, command: RecordReply) -> None:
    """Whose answer it is says the place the turn has in the run: a role is a word of the plan, and so of an agent."""
    session = draft.session
    if session.turn(command.turn_id).lane:
        return rounds.record(draft, command)
    if session.state == "judging":
        return judging.record(draft, command)
    return planning.record(draft, command)


def _continue(draft: OrchestrationDraft) -> None:
    """A paused or partial run goes on from its cursor (K-7, K-9); what is done or reset does not."""
    session = draft.session
    if session.guard("nothing_left"):
        return ends.complete(draft, draft.text(ALREADY_DONE), all_done=False)
    state = _through(draft, "resume", "cannot be continued", before=NOTHING_TO_CONTINUE)
    _resume(draft, state, last_round=session.round + session.max_rounds)


def _through(draft: OrchestrationDraft, event: str, verdict: str, *, before: str = "") -> str:
    """The state that a door leads to; Refused, with `verdict`, where it is closed."""
    session = draft.session
    target = TABLE.target(session.state, event, session.guard)
    if target is None:
        raise refusal(session, verdict, allowed_actions(session), before=before)
    return target


def _resume(draft: OrchestrationDraft, state: str, *, last_round: int) -> None:
    session = draft.session
    draft.record(
        Continued(
            message="Continued.",
            state=state,
            round=session.round,
            agents=session.resumed(),
            last_round=last_round,
            origin=session.origin,
        )
    )
    if state == "working":
        return rounds.begin(draft)
    return planning.ask(draft)


def _reset(draft: OrchestrationDraft, command: ResetOrchestration) -> None:
    session = draft.session
    if command.door == "cancel":
        state = _through(draft, "discard", "cannot be cancelled")
    else:
        state = _through(draft, "discard", "cannot be reset", before=NOTHING_TO_RESET)
    cancel_turns(draft, "reset")
    summary = draft.text(RESET)
    draft.record(
        WasReset(
            message=command.reason or RESET,
            state=state,
            round=session.round,
            reason=command.reason,
            origin=session.origin,
            summary=summary,
            children=tuple(session.open_children),
        )
    )
    clear_agents(draft, "reset")
    text = draft.text(RESET_DONE)
    draft.record(
        OrchestrateDone(message=RESET_DONE, round=session.round, text=text, origin=session.origin, status="reset")
    )


def _add_rounds(draft: OrchestrationDraft, command: AddRounds) -> None:
    """More rounds for a run that goes on; one that had used up its rounds goes on with them."""
    session = draft.session
    state = _through(draft, "extend", "cannot be given more rounds")
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
    if session.status == "partial":
        _resume(draft, state, last_round=last)
