"""Random commands and replies against a small model of the rules (S0, S1; K-2, K-3, K-7, K-9, K-12…K-18).

The model is written from the rules alone and shares no code with them: what it says of an orchestration has to be what
the orchestration says of itself, after every step.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.kinds import fold
from domain.orchestration.commands import AddRounds, ContinueOrchestration, ResetOrchestration
from domain.orchestration.events import OrchestrateDone, PlanMade
from domain.session.attempts import Failure
from domain.session.decision import Outcome
from domain.session.state import EventMetadata
from domain.session.turns import TurnRequested
from tests.kit.stories import OrchestrationStory

FULL = {"frontend": [1, 2, 3, 4, 5], "backend": [1, 2, 3, 4, 5], "docs": [1, 3, 5], "qa": [3]}
NAMES = ("Frontend", "Backend", "Docs")
State = Literal["planning", "direct", "working", "judging", "checkpoint", "partial", "done", "reset"]


@dataclass
class Agent:
    """One subtask on its way; `at` is the place in `phases`."""

    name: str
    role: str
    phases: list[int]
    checkpoint: bool
    alone: bool
    at: int = 0
    completed: bool = False
    checkpointed: bool = False
    entries: int = 0
    early: bool = False

    def passes(self, claim: list[int]) -> int:
        """How many phases the verdict was about."""
        reached = max(claim) if len(set(claim)) >= 2 else self.phases[self.at]
        behind = [phase for phase in self.phases[self.at :] if phase <= reached] or [self.phases[self.at]]
        self.at += len(behind)
        if self.at >= len(self.phases):
            self.at, self.completed = len(self.phases) - 1, True
        return len(behind)

    def resumes(self) -> None:
        """After a checkpoint: what the role has beyond; after anything else: the same phase."""
        if not (self.checkpoint and self.checkpointed) or self.completed:
            return
        last = self.phases[self.at - 1] if self.early else self.phases[-1]
        beyond = [phase for phase in FULL[self.role] if phase > last]
        self.checkpoint = False
        if beyond:
            self.phases, self.at = beyond, 0
        else:
            self.completed = True


@dataclass
class Model:
    """The rules of an orchestration, as few as there are."""

    state: State = "planning"
    direct: bool = False
    max_rounds: int = 3
    round: int = 0
    last_round: int = 0
    refused: int = 0
    unreadable: int = 0
    reason: str | None = None
    agents: list[Agent] = field(default_factory=list)
    claims: dict[int, list[int]] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    waiting: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    @property
    def active(self) -> list[int]:
        return [place for place, agent in enumerate(self.agents) if not agent.completed]

    def begins_round(self) -> None:
        self.state, self.round = "working", self.round + 1
        self.claims, self.unreadable, self.failed = {}, 0, set()
        self.waiting = self.active
        self.hands_out()

    def hands_out(self) -> None:
        """Those who may work at once first, then one by one, then the judge."""
        at_once = [place for place in self.waiting if not self.agents[place].alone]
        self.asked = at_once or self.waiting[:1]
        if not self.waiting:
            self.state = "judging"

    def reports(self, place: int, claim: list[int]) -> None:
        self.claims[place] = claim
        self.waiting.remove(place)
        self.asked.remove(place)
        if not self.asked:
            self.hands_out()

    def refuses_plan(self) -> None:
        self.refused += 1
        if self.refused == 2:
            self.state, self.reason = "partial", "plan_invalid"

    def judged(self, verdicts: dict[str, bool], all_done: bool) -> None:
        active = self.active
        if not any(self.agents[place].name in verdicts for place in active):
            return self.is_unreadable()
        verdicts = {name: ok and name not in self.failures() for name, ok in verdicts.items()}
        good = all(verdicts.get(self.agents[place].name, False) for place in active)
        names = {agent.name for agent in self.agents}
        good = good and not any(not ok for name, ok in verdicts.items() if name in names)
        for place in active:
            agent = self.agents[place]
            if agent.name in verdicts:
                agent.entries += agent.passes(self.claims[place]) if verdicts[agent.name] else 1
        return self.ends_round(finished=all_done and good)

    def failures(self) -> set[str]:
        """Whose turn of this round failed: their work cannot pass."""
        return {self.agents[place].name for place in self.failed}

    def is_unreadable(self) -> None:
        self.unreadable += 1
        if self.unreadable == 2:
            for place in self.active:
                self.agents[place].entries += 1
            self.ends_round(finished=False)

    def ends_round(self, *, finished: bool) -> None:
        if not finished and self.active:
            if self.round < self.last_round:
                return self.begins_round()
            self.state, self.reason = "partial", "rounds"
            return None
        if any(agent.checkpoint and not agent.checkpointed for agent in self.agents):
            self.state = "checkpoint"
            for agent in self.agents:
                pauses = agent.checkpoint and not agent.checkpointed
                agent.early = not agent.completed
                agent.checkpointed, agent.completed = agent.checkpointed or pauses, not pauses
            return None
        self.state = "done"
        for agent in self.agents:
            agent.completed = True
        return None

    def resumes(self) -> bool:
        """False: it is refused."""
        if self.state not in ("checkpoint", "partial"):
            return False
        if self.state == "checkpoint":
            for agent in self.agents:
                agent.resumes()
            if not self.active:
                self.state = "done"
                return True
        self.last_round = self.round + self.max_rounds
        self.reason, self.refused = None, 0
        if self.agents:
            self.begins_round()
        else:
            self.state = "direct" if self.direct else "planning"
        return True

    def gets_rounds(self, number: int) -> bool:
        """False: it is refused."""
        ran_out = self.state == "partial" and self.reason == "rounds"
        if self.state not in ("planning", "working", "judging") and not ran_out:
            return False
        self.last_round += number
        if ran_out:
            self.reason = None
            self.begins_round()
        return True


def profile(role: str, start: int | None, end: int | None) -> list[int]:
    """S1 §3.1."""
    full = FULL[role]
    first = full[0] if start is None else min(max(start, full[0]), full[-1])
    last = full[-1] if end is None else max(first, min(end, full[-1]))
    return [phase for phase in full if first <= phase <= last] or [min(phase for phase in full if phase >= first)]


BOUNDS = st.none() | st.integers(min_value=0, max_value=6)
SUBTASKS = st.lists(
    st.fixed_dictionaries(
        {
            "agent": st.sampled_from(NAMES),
            "role": st.sampled_from(sorted(FULL)),
            "task": st.just("t"),
            "start_phase": BOUNDS,
            "end_phase": BOUNDS,
            "checkpoint": st.booleans(),
            "parallel": st.booleans(),
        }
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda subtask: subtask["agent"],
)
INVALID = st.sampled_from(["", "Hm.", '{"subtasks": [{"agent": "Ghost", "task": "t"}]}', '{"subtasks": []}'])
CLAIMS = st.lists(st.integers(min_value=1, max_value=5), max_size=3)
VERDICTS = st.dictionaries(st.sampled_from((*NAMES, "Ghost")), st.sampled_from([True, True, False]), max_size=4)
GARBLED = st.sampled_from(["", "Fine.", '{"allDone": true}', '{"verdicts": [{"agent": "Docs", "pass": "true"}]}'])


class Tale(OrchestrationStory):
    """The history is folded once, at its end."""

    def _tell(self, decision: Outcome) -> None:
        self.history += [(event, EventMetadata(self.id, self.at)) for event in decision.events]
        self.now = decision.session


class OrchestrationMachine(RuleBasedStateMachine):
    """The orchestration and the model get the same commands, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.settled: list[str] = []

    @initialize(direct=st.booleans(), max_rounds=st.integers(min_value=1, max_value=3))
    def begin(self, direct: bool, max_rounds: int) -> None:
        triage = "direct" if direct else "orchestrate"
        self.story = Tale("안녕", triage=triage, max_rounds=max_rounds)
        self.model = Model(
            state="direct" if direct else "planning", direct=direct, max_rounds=max_rounds, last_round=max_rounds
        )

    def teardown(self) -> None:
        if self.settled:
            assert fold("orchestration", self.story.history) == self.story.now

    def says(self, words: str, turn_id: str | None = None, **fields: Any) -> None:
        result = turn_id or self.story.turn.turn_id
        self.story.answer(words, turn_id=result, agent_session=f"{result}-kept", **fields)
        self.settled.append(result)

    # -- planning ------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.model.state in ("planning", "direct"))
    @rule(subtasks=SUBTASKS)
    def plan(self, subtasks: list[dict[str, Any]]) -> None:
        for place, subtask in enumerate(subtasks):
            subtask["verification"] = {"affected_files": [f"file-{place}"]}
        self.says(json.dumps({"subtasks": subtasks}))
        self.model.agents = [
            Agent(
                name=subtask["agent"],
                role=subtask["role"],
                phases=profile(subtask["role"], subtask["start_phase"], subtask["end_phase"]),
                checkpoint=subtask["checkpoint"],
                alone=not subtask["parallel"],
            )
            for subtask in subtasks
        ]
        self.model.refused = 0
        self.model.begins_round()

    @precondition(lambda self: self.model.state == "planning")
    @rule(words=INVALID)
    def plan_badly(self, words: str) -> None:
        self.says(words)
        self.model.refuses_plan()

    @precondition(lambda self: self.model.state == "direct")
    @rule()
    def plan_badly_and_late(self) -> None:
        self.says('{"subtasks": [{"agent": "Ghost", "task": "t"}]}')
        self.model.refuses_plan()

    @precondition(lambda self: self.model.state in ("planning", "direct") and self.model.refused)
    @rule()
    def answer_directly(self) -> None:
        self.says('{"direct_answer": "It is so.", "subtasks": []}')
        self.model.state = "done"

    # -- rounds --------------------------------------------------------------------------------------------------

    def turn_of(self, place: int) -> str:
        name = self.model.agents[place].name
        return next(turn.turn_id for turn in self.story.run.outstanding.values() if turn.agent == name)

    @precondition(lambda self: self.model.state == "working")
    @rule(data=st.data(), claim=CLAIMS)
    def work(self, data: st.DataObject, claim: list[int]) -> None:
        place = data.draw(st.sampled_from(self.model.asked))
        self.says(json.dumps({"phases_completed": claim}), self.turn_of(place))
        self.model.reports(place, claim)

    @precondition(lambda self: self.model.state == "working")
    @rule()
    def work_on(self) -> None:
        """All agents report, so that runs reach their end and not only the middle."""
        while self.model.state == "working":
            place = self.model.asked[0]
            self.says("ok", self.turn_of(place))
            self.model.reports(place, [])

    @precondition(lambda self: self.model.state == "working")
    @rule(data=st.data(), claim=CLAIMS)
    def fail_to_work(self, data: st.DataObject, claim: list[int]) -> None:
        place = data.draw(st.sampled_from(self.model.asked))
        failure = Failure(code="crash")
        self.says(json.dumps({"phases_completed": claim}), self.turn_of(place), failure=failure)
        self.model.failed.add(place)
        self.model.reports(place, [])

    @precondition(lambda self: self.model.state == "judging")
    @rule(verdicts=VERDICTS, all_done=st.booleans())
    def judge(self, verdicts: dict[str, bool], all_done: bool) -> None:
        items = [{"agent": name, "pass": ok, "feedback": "…"} for name, ok in verdicts.items()]
        self.says(json.dumps({"verdicts": items, "allDone": all_done}))
        self.model.judged(verdicts, all_done)

    @precondition(lambda self: self.model.state == "judging")
    @rule()
    def let_all_pass(self) -> None:
        self.judge(dict.fromkeys(NAMES, True), all_done=False)

    @precondition(lambda self: self.model.state == "judging")
    @rule(words=GARBLED)
    def judge_unreadably(self, words: str) -> None:
        self.says(words)
        self.model.is_unreadable()

    # -- what a person may say at any time -----------------------------------------------------------------------

    @rule()
    def resume(self) -> None:
        if self.model.resumes():
            self.story.resumes()
        else:
            self.story.refused(ContinueOrchestration())

    @precondition(lambda self: self.model.state not in ("working", "judging") or self.model.round == 2)
    @rule(number=st.integers(min_value=1, max_value=2))
    def give_rounds(self, number: int) -> None:
        command = AddRounds(add_rounds=number, reason="more")
        if self.model.gets_rounds(number):
            self.story.when(command)
        else:
            self.story.refused(command)

    @precondition(lambda self: self.story.run.round >= 3)
    @rule()
    def reset(self) -> None:
        if self.model.state in ("done", "reset"):
            self.story.refused(ResetOrchestration())
        else:
            self.settled += self.story.run.outstanding
            self.story.resets()
            self.model.state = "reset"

    @precondition(lambda self: self.settled)
    @rule(data=st.data())
    def answer_too_late(self, data: st.DataObject) -> None:
        turn_id = data.draw(st.sampled_from(self.settled))
        self.story.refused(self.story.reply('{"verdicts": [], "allDone": true}', turn_id=turn_id))

    # -- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def stands_where_the_model_stands(self) -> None:
        run, model = self.story.run, self.model
        assert run.state == model.state
        assert (run.round, run.last_round) == (model.round, model.last_round)
        assert run.partial_reason == (model.reason if model.state == "partial" else None) or model.state == "reset"
        assert [
            (agent.agent, list(agent.phase_profile), agent.current_phase, agent.completed, agent.checkpointed)
            for agent in run.agents
        ] == [
            (agent.name, agent.phases, agent.phases[agent.at], agent.completed, agent.checkpointed)
            for agent in model.agents
        ]
        if model.state != "done":
            assert [agent.checkpoint for agent in run.agents] == [agent.checkpoint for agent in model.agents]
        assert [len(agent.history) for agent in run.agents] == [agent.entries for agent in model.agents]

    @invariant()
    def asks_whom_the_model_asks(self) -> None:
        posts = {"planning": ["planner"], "direct": ["assistant"], "judging": ["judge"]}
        names = [self.model.agents[place].name for place in self.model.asked]
        expected = names if self.model.state == "working" else posts.get(self.model.state, [])
        assert sorted(self.story.asked) == sorted(expected)

    @invariant()
    def keeps_conversations_until_the_end(self) -> None:
        """Kept at checkpoint and partial, cleared at done and reset; nothing else decides that."""
        if self.model.state in ("done", "reset"):
            assert self.story.run.agent_sessions == {}
        elif self.settled and self.model.state in ("checkpoint", "partial") and self.model.agents:
            assert set(self.story.run.agent_sessions) >= {"planner (planner)"} or self.model.direct

    @invariant()
    def plans_once_and_says_each_end_once(self) -> None:
        made = sum(isinstance(event, PlanMade) for event in self.story.events)
        assert made == self.story.run.plan_version == (1 if self.model.agents else 0)
        texts = [event.status for event in self.story.events if isinstance(event, OrchestrateDone)]
        assert texts[-1:] == [self.model.state] or self.model.state in ("planning", "direct", "working", "judging")

    @invariant()
    def numbers_turns_without_a_gap(self) -> None:
        requests = [event for event in self.story.events if isinstance(event, TurnRequested)]
        assert [event.turn_id for event in requests] == [f"orchestration-1.t{n}" for n in range(1, len(requests) + 1)]


TestOrchestration = OrchestrationMachine.TestCase
TestOrchestration.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
