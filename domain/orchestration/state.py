"""The state of an orchestration."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from domain.delivery.validation import BaselineCommand, Preparation
from domain.orchestration.chart import Status, status
from domain.orchestration.claims import FileClaim
from domain.orchestration.events import (
    Employee,
    Forced,
    Mode,
    TriageSignals,
)
from domain.session import waits
from domain.session.children import ReviewSettings
from domain.session.state import Session
from domain.session.validation import ValidationStep
from domain.session.workspace import EVERYTHING, PathScope, touched
from domain.values.base import Text
from domain.values.phases import AgentPhase, AgentPhases, resumed
from domain.values.sentences import Sentence

COMMANDS_LANE = 900
"""The worktree of the set-up and the validation: agents work in others at the same time."""
AGENT = "agent:"
"""What a review of an agent's work is about, followed by the agent's place in the plan."""


_RETRIED: Final = (
    "commands_failed",
    "planner_failed",
    "assistant_failed",
    "judge_failed",
    "plan_refused",
    "answer_refused",
)
"""The guards of what a person may repeat where a run has stopped."""


def subtask_id(place: int) -> str:
    """The id of a subtask, by its place in the plan: `s1`, `s2`, …"""
    return f"s{place + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """The report of an agent in this round."""

    result: str
    report: Text
    claimed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """The faults that a person wants fixed, until a verdict says that they are."""

    issues: str
    synthesis: Text


@dataclass(kw_only=True)
class Orchestration(Session):
    """The state of an orchestration (behaviour §1.1). `agents` are the subtasks in the order of the plan; their place
    in it is the key of `reports`, `feedback`, `passed` and `fixes`."""

    takes_comments = True

    policy: str
    prompt: str
    employees: tuple[Employee, ...]
    max_rounds: int
    forced: Forced
    mode: Mode
    triage: TriageSignals
    repository: bool
    follows: str | None = None
    plan: Text | None = None
    plan_version: int = 0
    refusals: tuple[Sentence | str, ...] = ()
    refused_plans: int = 0
    agents: tuple[AgentPhases, ...] = ()
    round: int = 0
    last_round: int = 0
    parallel: tuple[bool, ...] = ()
    reports: dict[int, WorkReport] = field(default_factory=dict)
    patches: dict[int, tuple[Text, ...]] = field(default_factory=dict)
    """How each place changed the files in its present phase, turn by turn."""
    authors: dict[int, str] = field(default_factory=dict)
    """The agent who wrote the latest work at each place: the assigned one, or the one that took over its turn."""
    unreadable_verdicts: int = 0
    verdict_problem: Sentence | str = ""
    unjudged: int | None = None
    """The round whose verdict was unreadable, until one can be read."""
    feedback: dict[int, str] = field(default_factory=dict)
    early: tuple[int, ...] = ()
    summary: Text | None = None
    partial_reason: str | None = None
    no_change: bool = False
    """Whether it ended or paused without a changed file, although work was planned."""
    warnings: tuple[Sentence | str, ...] = ()
    plan_review: ReviewSettings | None = None
    work_review: ReviewSettings | None = None
    debate_rounds: int = 0
    all_done: bool = False
    judged: Text = field(default_factory=Text)
    passed: dict[int, int] = field(default_factory=dict)
    reviews: dict[str, int] = field(default_factory=dict)
    fixes: dict[int, Fix] = field(default_factory=dict)
    scope: PathScope = EVERYTHING
    scope_allowed: tuple[str, ...] = ()
    """Paths outside the scope that a person has allowed by continuing."""
    strayed: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The paths outside the scope that each place has changed, whether or not it has undone that since."""
    preparation: Preparation = field(default_factory=Preparation)
    steps: tuple[ValidationStep, ...] = ()
    baseline: tuple[BaselineCommand, ...] = ()
    baselined: bool = False
    """Whether the baseline was recorded, and the validation proves something."""
    validation_env: dict[str, str] = field(default_factory=dict)
    trees: dict[int, str] = field(default_factory=dict)
    """The state of the workspace after each turn of the round that changed files, in the order in which they were
    merged, by the agent's place."""
    checked: bool = False
    """Whether the work was validated since it was changed last."""
    check: str = ""
    """What the last validation showed, in a sentence."""
    failures: tuple[str, ...] = ()
    """What fails now and did not before any change."""
    broken: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The new failures, by the place of the agent who brought them."""
    changed: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The files that each place has changed."""
    answered: Text = field(default_factory=Text)
    """The direct answer in which a person wants something changed."""
    answer: Text = field(default_factory=Text)
    """A direct answer that counts once its changes are validated."""

    @property
    def status(self) -> Status:
        return status(self.state)

    @property
    def reason(self) -> str | None:
        """Returns why it stopped, as a code, or that nothing was changed."""
        return "no_change" if self.no_change else self.partial_reason

    @property
    def ended(self) -> bool:
        """A checkpoint and a partial run can be continued: they have not ended (S1 §2)."""
        return self.status in ("done", "reset")

    @property
    def at_work(self) -> bool:
        """True if an agent is being asked right now. A branch may be made in parallel."""
        return any(turn.work not in ("package", "land") for turn in self.outstanding.values())

    @property
    def needs_baseline(self) -> bool:
        """True if the commands have to run before the first agent works."""
        return bool(self.steps) and not self.baselined

    @property
    def needs_validation(self) -> bool:
        """True if there are changes whose validation is not recorded yet."""
        return bool(self.steps) and not self.checked and not self.unchanged

    @property
    def active(self) -> tuple[int, ...]:
        """The places of the agents that still have phases to complete."""
        return tuple(place for place, agent in enumerate(self.agents) if not agent.completed)

    @property
    def claims(self) -> list[FileClaim]:
        """The files that each active agent will change, and whether it asks to work in parallel (K-19)."""
        agents = [self.agents[place] for place in self.active]
        return [
            FileClaim(agent=agent.agent, parallel=agent.parallel, affected_files=agent.affected_files)
            for agent in agents
        ]

    @property
    def affected_files(self) -> tuple[str, ...]:
        """The files that the plan names."""
        return tuple(path for agent in self.agents for path in agent.affected_files)

    @property
    def outside(self) -> tuple[str, ...]:
        """The changed paths outside the scope that no person has allowed."""
        return tuple(path for path in self.scope.outside_of(touched(self.changes)) if path not in self.scope_allowed)

    def refused_paths(self, place: int) -> tuple[str, ...]:
        """The paths that the agent at this place changed and may not change."""
        own = self.strayed.get(place, ())
        return tuple(path for path in self.outside if path in own) if self.scope.outside == "fail" else ()

    @property
    def agent_phases(self) -> tuple[AgentPhase, ...]:
        """The phase of every agent, for the round's events."""
        return tuple(
            AgentPhase(agent=agent.agent, phase=agent.current_phase, completed=agent.completed) for agent in self.agents
        )

    @property
    def worklog(self) -> str:
        """The path of the run's record (contract §2)."""
        return f"/api/sessions/{self.id}/worklog"

    def has_several(self, name: str) -> bool:
        """True if the agent has more than one subtask of the plan."""
        return sum(agent.agent == name for agent in self.agents) > 1

    @property
    def asks(self) -> bool:
        """True if a person has to allow changes outside the scope before the run is done."""
        return self.scope.outside == "ask" and bool(self.outside)

    @property
    def wait(self) -> waits.Need | None:
        match self.state:
            case "checkpoint":
                return waits.checkpoint(outside=self.asks)
            case "partial":
                retriable = any(map(self.guard, _RETRIED))
                return waits.partial(self.partial_reason or "", planned=bool(self.agents), retriable=retriable)
            case _:
                return None

    def guard(self, name: str) -> bool:
        """The chart's guards."""
        match name:
            case "planned":
                return bool(self.agents) and (self._out_of_rounds or self._failed("judge"))
            case "answers_directly":
                return self.mode == "direct" and not self.agents
            case "out_of_rounds":
                return bool(self.agents) and self._out_of_rounds
            case "commands_failed_for_agents":
                return self._commands_failed and bool(self.agents)
            case "commands_failed_for_answer":
                return self._commands_failed and self.mode == "direct"
            case "commands_failed":
                return self._commands_failed
            case "waits":
                return self.waits
            case "planner_failed" | "assistant_failed" | "judge_failed":
                return self._failed(name.removesuffix("_failed"))
            case "plan_refused":
                return self._plan_refused and self.mode == "orchestrated"
            case "answer_refused":
                return self._plan_refused and self.mode == "direct"
            case "has_worked":
                return bool(self.agents) and self.round > 0
            case "has_changed_directly":
                return self.mode == "direct" and not self.agents and bool(self.changes and self.changes.files)
            case "nothing_left":
                return self.state == "checkpoint" and all(agent.completed for agent in self.resumed())
            case _:
                return False

    @property
    def _out_of_rounds(self) -> bool:
        return self.partial_reason in ("rounds", "validation_failed")

    @property
    def _commands_failed(self) -> bool:
        """True if it stopped because the set-up or a validation command could not run."""
        return self.failed_turn is not None and self.failed_turn.work in ("prepare", "validate")

    def _failed(self, role: str) -> bool:
        return self.failed_turn is not None and self.failed_turn.role == role

    @property
    def _plan_refused(self) -> bool:
        """True if the run stopped because two answers were not plans, although both could be read."""
        return self.partial_reason == "plan_invalid" and self.failed_turn is None

    def wrote(self, places: Iterable[int]) -> tuple[str, ...]:
        """The agents who wrote the work at these places, by all their names."""
        names = [name for place in places for name in (self.agents[place].agent, self.authors.get(place, ""))]
        return tuple(dict.fromkeys(author for name in names for author in (name, self.crew.get(name, "")) if author))

    def step(self, place: int) -> str:
        """The subject of a review of passed work: the agent's place, and the phase that it passed."""
        return f"{place}.{self.agents[place].phase_profile[self.passed[place]]}"

    def resumed(self) -> tuple[AgentPhases, ...]:
        """The agents for a continue (K-7): those that paused get the remaining phases of their role, once."""
        return tuple(
            resumed(agent, early=place in self.early) if agent.checkpointed else agent
            for place, agent in enumerate(self.agents)
        )
