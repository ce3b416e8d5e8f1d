"""What happens in an orchestration. Rounds and the end bear the names of the seeds' broadcasts (behaviour §1.13)."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from domain.base import DomainEvent, Text, Value
from domain.discussion.topic import Wish
from domain.phases import AgentPhases

Mode = Literal["direct", "orchestrated"]
Forced = Literal["auto", "direct", "orchestrate"]


class Employee(Value):
    """Somebody who takes subtasks."""

    name: str
    role: str


class Opening(Value):
    """What an orchestration is started with."""

    prompt: str
    employees: tuple[Employee, ...] = ()
    max_rounds: int = 3
    triage: Forced = "auto"
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    workspace: str | None = None
    repository: bool = False
    scenario: Text | None = None
    crew: dict[str, str] = {}
    plan_review: Wish | None = None
    work_review: Wish | None = None


class Signals(Value):
    """What the triage saw (S3): `orchestrate` is what the rule says, whatever was forced."""

    orchestrate: bool
    signals: tuple[str, ...]
    policy: str


class AgentPhase(Value):
    """Where one agent stands."""

    agent: str
    phase: int
    completed: bool = False


class OrchestrationEvent(DomainEvent):
    """`message` is a sentence for people; `round` is 0 before the first round."""

    message: str = ""
    role: str = "supervisor"
    round: int = 0


class Transition(OrchestrationEvent):
    """An event that leads to another state of the chart."""

    state: str


class SessionStarted(Transition):
    """A request came in and was triaged (S3)."""

    TOPIC: ClassVar[str] = "orchestration.session_started"
    policy: str = Field(default="orchestration@1", description="the version of the rules in force for this session")
    opening: Opening
    mode: Mode
    triage: Signals


class PlanRefused(OrchestrationEvent):
    """The planner's plan does not hold; `reasons` say why (K-16, K-18)."""

    TOPIC: ClassVar[str] = "orchestration.plan_refused"
    reasons: tuple[str, ...]
    attempt: int


class PlanMade(Transition):
    """Version `plan_version` of the plan: who does what, in which phases (S1 §3.1)."""

    TOPIC: ClassVar[str] = "orchestration.plan_made"
    plan_version: int
    plan: Text
    agents: tuple[AgentPhases, ...]
    warnings: tuple[str, ...] = ()
    last_round: int = Field(default=0, description="the round after which the run stops unless it is given more (K-13)")
    source: Literal["planner", "agent"] = "planner"


class RoundStart(Transition):
    """A round begins; `parallel` says, agent by agent, who works at once (K-19)."""

    TOPIC: ClassVar[str] = "orchestration.round_start"
    agent_phases: tuple[AgentPhase, ...]
    parallel: tuple[bool, ...]


class WorkReported(OrchestrationEvent):
    """An agent's turn of this round is over; `claimed` are the phases it says it has done (K-12)."""

    TOPIC: ClassVar[str] = "orchestration.work_reported"
    index: int
    agent: str
    phase: int
    result: Literal["done", "error"]
    report: Text
    claimed: tuple[int, ...] = ()


class JudgingStarted(Transition):
    """Every agent of the round has reported; the judge is asked."""

    TOPIC: ClassVar[str] = "orchestration.judging_started"


class VerdictUnreadable(OrchestrationEvent):
    """The judge's answer could not be read; after the second time nobody advances (K-15)."""

    TOPIC: ClassVar[str] = "orchestration.verdict_unreadable"
    problem: str
    attempt: int


class VerdictRefused(OrchestrationEvent):
    """A verdict on somebody who is not judged in this round; it changes nothing."""

    TOPIC: ClassVar[str] = "orchestration.verdict_refused"
    agent: str
    reason: str


class VerdictGiven(OrchestrationEvent):
    """The one verdict on an agent in this round, the phases it was about, and where it leaves the agent.

    `judged` is empty where the judge could not be read: a FAIL that nobody pronounced (K-15).
    """

    TOPIC: ClassVar[str] = "orchestration.verdict_given"
    index: int
    agent: str
    phase: int
    judged: tuple[int, ...]
    passed: bool = Field(alias="pass")
    feedback: str
    phase_idx: int
    completed: bool


class ReviewStarted(Transition):
    """Work that passed is reviewed before the round counts; what the judge said is kept until then."""

    TOPIC: ClassVar[str] = "orchestration.review_started"
    all_done: bool
    words: Text


class VerdictOverturned(OrchestrationEvent):
    """A person wants passed work fixed: the agent is back in the phase, with what has to be mended (K-25)."""

    TOPIC: ClassVar[str] = "orchestration.verdict_overturned"
    index: int
    agent: str
    phase: int
    feedback: str
    issues: str = Field(default="", description="of the feedback, what has to be mended: without the synthesis")
    synthesis: Text
    child_id: str


class PlanReturned(Transition):
    """A person wants the plan revised; the planner is asked again with the synthesis (K-24)."""

    TOPIC: ClassVar[str] = "orchestration.plan_returned"
    synthesis: Text
    child_id: str


class RoundDone(OrchestrationEvent):
    """The round is over: on to the next, or complete."""

    TOPIC: ClassVar[str] = "orchestration.round_done"
    action: Literal["next", "complete"]
    agent_phases: tuple[AgentPhase, ...]
    all_done: bool = False


class CheckpointReached(Transition):
    """The requested scope is done and a person decides how it goes on; agents pause, their sessions are kept (K-2)."""

    TOPIC: ClassVar[str] = "orchestration.checkpoint_reached"
    summary: Text
    hint: str


class PartialReached(Transition):
    """The rounds are used up, or no plan was to be had; the session can be continued (K-46)."""

    TOPIC: ClassVar[str] = "orchestration.partial_reached"
    reason: Literal["rounds", "plan_invalid", "agent_failed"]
    summary: Text
    done: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


class Completed(Transition):
    """The request is answered, or all its work is done."""

    TOPIC: ClassVar[str] = "orchestration.completed"
    summary: Text
    all_done: bool = False


class OrchestrateDone(OrchestrationEvent):
    """The seeds' broadcast at every end of a run (§1.13)."""

    TOPIC: ClassVar[str] = "orchestration.orchestrate_done"
    text: Text
    origin: str
    status: str
    checkpoint: bool = False


class Continued(Transition):
    """A person let a paused or partial run go on from where it stood (K-7, K-9)."""

    TOPIC: ClassVar[str] = "orchestration.continued"
    agents: tuple[AgentPhases, ...]
    last_round: int
    origin: str


class RoundsAdded(OrchestrationEvent):
    """A person gave more rounds."""

    TOPIC: ClassVar[str] = "orchestration.rounds_added"
    add_rounds: int
    last_round: int
    why: str


class WasReset(Transition):
    """A person ended the run for good; its history stays (K-17, K-20)."""

    TOPIC: ClassVar[str] = "orchestration.reset"
    reason: str
    origin: str
    summary: Text
    children: tuple[str, ...] = ()


EVENTS: tuple[type[DomainEvent], ...] = (
    SessionStarted,
    PlanRefused,
    PlanMade,
    RoundStart,
    WorkReported,
    JudgingStarted,
    VerdictUnreadable,
    VerdictRefused,
    VerdictGiven,
    ReviewStarted,
    VerdictOverturned,
    PlanReturned,
    RoundDone,
    CheckpointReached,
    PartialReached,
    Completed,
    OrchestrateDone,
    Continued,
    RoundsAdded,
    WasReset,
)

Fields = dict[str, Any]
