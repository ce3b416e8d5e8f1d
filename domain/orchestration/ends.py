"""How a run ends: at a checkpoint, done, or with its rounds used up (S0 2-B, 2-C; behaviour §1.10)."""

from domain import replies
from domain.orchestration.events import CheckpointReached, Completed, OrchestrateDone, PartialReached
from domain.orchestration.parts import OrchestrationDraft, next_state, worklog
from domain.orchestration.phases import phase_name
from domain.session.draft import clear_agents
from domain.values.base import Text

CHECKPOINT_DONE = "요청된 scope 완료"
ALL_DONE = "모든 작업 완료"
HINT = '다음: "리뷰해봐", "이어서 해줘", "리셋해"'
GO_ON = '이어서 진행하려면 "이어서 해줘"라고 말씀하세요.'


def pause(draft: OrchestrationDraft, words: str) -> None:
    session = draft.session
    summary = draft.text(spoken(words) or CHECKPOINT_DONE)
    state = next_state(draft, "pause", sentence="Only a judged round reaches a checkpoint.")
    draft.record(
        CheckpointReached(
            message="Checkpoint: a person decides how it goes on.",
            state=state,
            round=session.round,
            summary=summary,
            hint=HINT,
        )
    )
    draft.record(
        OrchestrateDone(
            message=HINT,
            round=session.round,
            text=summary,
            origin=session.origin,
            status="checkpoint",
            checkpoint=True,
        )
    )


def complete(draft: OrchestrationDraft, summary: Text, *, all_done: bool, event: str = "finish") -> None:
    """The end: all agents completed, their conversations cleared (S1)."""
    session = draft.session
    state = next_state(draft, event, sentence=f"An orchestration that is {session.status} cannot be completed.")
    draft.record(Completed(message="Done.", state=state, round=session.round, summary=summary, all_done=all_done))
    clear_agents(draft, "done")
    draft.record(
        OrchestrateDone(message="Done.", round=session.round, text=summary, origin=session.origin, status="done")
    )


def run_out(draft: OrchestrationDraft) -> None:
    session = draft.session
    done = [agent for agent in session.agents if agent.completed]
    pending = [agent for agent in session.agents if not agent.completed]
    lines = [
        f"## 완료 ({len(done)})",
        *(f"- ✅ {agent.agent} ({agent.role})" for agent in done),
        "",
        f"## 미완료 ({len(pending)})",
        *(
            f"- ⏳ {agent.agent} ({agent.role}) — Phase {agent.current_phase}: {phase_name(agent.current_phase)}"
            for agent in pending
        ),
        "",
        GO_ON,
        f"Worklog: {worklog(session)}",
    ]
    summary = draft.text("\n".join(lines))
    draft.record(
        PartialReached(
            message="The rounds are used up.",
            state=next_state(draft, "stop", sentence="Only a judged round runs out."),
            round=session.round,
            reason="rounds",
            summary=summary,
            done=tuple(agent.agent for agent in done),
            pending=tuple(agent.agent for agent in pending),
        )
    )
    draft.record(
        OrchestrateDone(
            message="The rounds are used up.",
            round=session.round,
            text=summary,
            origin=session.origin,
            status="partial",
        )
    )


def spoken(words: str) -> str:
    """The judge's own words, without thinking and without the JSON (§1.10: review text without JSON)."""
    return replies.without_json(words).strip()
