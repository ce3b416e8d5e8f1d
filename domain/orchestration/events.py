"""What happens in an orchestration. Rounds and the end bear the names of the seeds' broadcasts (behaviour §1.13)."""

from typing import ClassVar, Literal

from pydantic import Field

from domain.orchestration.phases import AgentPhases
from domain.session.attempts import ONCE, RetryPolicy
from domain.session.children import ReviewSettings
from domain.session.scope import EVERYTHING, PathScope
from domain.values.base import DomainEvent, Text, Value

Mode = Literal["direct", "orchestrated"]
Forced = Literal["auto", "direct", "orchestrate"]


class Employee(Value):
    """Somebody who takes subtasks."""

    name: str
    role: str


class OrchestrationRequest(Value):
    """What an orchestration is started with."""

    prompt: str = Field(description="what is wanted")
    employees: tuple[Employee, ...] = Field(default=(), description="who takes subtasks")
    max_rounds: int = Field(default=3, description="so many for each run")
    triage: Forced = Field(default="auto", description="what was forced, if anything")
    title: str = ""
    origin: str = Field(default="", description="the conversation that it belongs to")
    follows: str | None = Field(
        default=None, description="the session before it in the conversation; empty for the first message"
    )
    labels: tuple[str, ...] = ()
    workspace: str | None = Field(default=None, description="the folder that was named; null for a fresh one")
    repository: bool = Field(default=False, description="whether that folder belongs to a git repository")
    scenario: Text | None = Field(default=None, description="what scripted agents say in this session")
    crew: dict[str, str] = Field(default={}, description="the agent's name for each role and each employee")
    plan_review: ReviewSettings | None = Field(default=None, description="how the plan is debated, if it is")
    work_review: ReviewSettings | None = Field(default=None, description="how passed work is reviewed, if it is")
    retry: RetryPolicy = Field(default=ONCE, description="how failed turns are tried again")
    scope: PathScope = Field(default=EVERYTHING, description="which paths it is meant to change")


class TriageSignals(Value):
    """What the triage saw (S3): `orchestrate` is what the rule says, whatever was forced."""

    orchestrate: bool = Field(description="whether the request needs a plan and a team")
    signals: tuple[str, ...] = Field(description="by which signs")
    policy: str = Field(description="the version of the rule")


class AgentPhase(Value):
    """Where one agent stands."""

    agent: str
    phase: int = Field(description="1 to 5")
    completed: bool = False


class OrchestrationEvent(DomainEvent):
    """`message` is a sentence for people; `round` is 0 before the first round."""

    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    round: int = Field(default=0, description="0 before the first")


class OrchestrationTransition(OrchestrationEvent):
    """An event that leads to another state of the chart."""

    state: str = Field(description="the state of the chart that it leads to")


class OrchestrationStarted(OrchestrationTransition):
    """A request came in and was triaged (S3)."""

    TOPIC: ClassVar[str] = "orchestration.session_started"
    policy: str = Field(default="orchestration@1", description="the version of the rules in force for this session")
    opening: OrchestrationRequest = Field(description="the request")
    mode: Mode = Field(description="answered directly, or planned and distributed")
    triage: TriageSignals = Field(description="what the rule saw in the request")


class PlanRefused(OrchestrationEvent):
    """The planner's plan does not hold; `reasons` say why (K-16, K-18)."""

    TOPIC: ClassVar[str] = "orchestration.plan_refused"
    reasons: tuple[str, ...] = Field(description="for people and for the planner, who is asked to repair it")
    attempt: int = Field(description="1 for the first plan")


class PlanMade(OrchestrationTransition):
    """Version `plan_version` of the plan: who does what, in which phases (S1 §3.1)."""

    TOPIC: ClassVar[str] = "orchestration.plan_made"
    plan_version: int = Field(description="counts the plans of this session")
    plan: Text = Field(description="the plan in the planner's words")
    agents: tuple[AgentPhases, ...] = Field(description="each agent's part, in the plan's order")
    warnings: tuple[str, ...] = Field(default=(), description="what was put right in the plan")
    last_round: int = Field(default=0, description="the round after which the run stops unless it is given more (K-13)")
    source: Literal["planner", "agent"] = Field(
        default="planner", description="the planner, or an agent who asked others"
    )


class RoundStart(OrchestrationTransition):
    """A round begins; `parallel` says, agent by agent, who works at once (K-19)."""

    TOPIC: ClassVar[str] = "orchestration.round_start"
    agent_phases: tuple[AgentPhase, ...] = Field(description="who works in this round, and on what")
    parallel: tuple[bool, ...] = Field(description="for each of them")


class WorkReported(OrchestrationEvent):
    """An agent's turn of this round is over; `claimed` are the phases it says it has done (K-12)."""

    TOPIC: ClassVar[str] = "orchestration.work_reported"
    index: int = Field(description="the agent's place in the plan")
    agent: str
    phase: int = Field(description="the phase it worked on")
    result: Literal["done", "error"] = Field(description="`error`: it did not answer")
    report: Text = Field(description="its answer, or what went wrong")
    claimed: tuple[int, ...] = Field(default=(), description="phases")


class JudgingStarted(OrchestrationTransition):
    """Every agent of the round has reported; the judge is asked."""

    TOPIC: ClassVar[str] = "orchestration.judging_started"


class VerdictUnreadable(OrchestrationEvent):
    """The judge's answer could not be read, and nobody advances (K-15)."""

    TOPIC: ClassVar[str] = "orchestration.verdict_unreadable"
    problem: str = Field(description="why not")
    attempt: int = Field(description="1 for the first answer; in old logs 2 for the second of a round")


class VerdictRefused(OrchestrationEvent):
    """A verdict on somebody who is not judged in this round; it changes nothing."""

    TOPIC: ClassVar[str] = "orchestration.verdict_refused"
    agent: str = Field(description="as the judge named it")
    reason: str = Field(description="why it does not count")


class VerdictGiven(OrchestrationEvent):
    """The one verdict on an agent in this round, the phases it was about, and where it leaves the agent.

    `judged` is empty where the judge could not be read: a FAIL that nobody pronounced (K-15).
    """

    TOPIC: ClassVar[str] = "orchestration.verdict_given"
    index: int = Field(description="the agent's place in the plan")
    agent: str
    phase: int = Field(description="the first phase that was judged")
    judged: tuple[int, ...] = Field(description="the phases that were judged")
    passed: bool = Field(alias="pass")
    feedback: str = Field(description="the judge's words, for the agent's next turn")
    phase_idx: int = Field(description="where the agent now stands in its phases")
    completed: bool = Field(description="whether it is through all of them")


class ReviewStarted(OrchestrationTransition):
    """Work that passed is reviewed before the round counts; what the judge said is kept until then."""

    TOPIC: ClassVar[str] = "orchestration.review_started"
    all_done: bool = Field(description="whether the judge said that all is done")
    words: Text = Field(description="what the judge said")


class VerdictOverturned(OrchestrationEvent):
    """A person wants passed work fixed: the agent is back in the phase, with what has to be fixed (K-25)."""

    TOPIC: ClassVar[str] = "orchestration.verdict_overturned"
    index: int = Field(description="the agent's place in the plan")
    agent: str
    phase: int = Field(description="the phase that it is back in")
    feedback: str = Field(description="for the agent's next turn")
    issues: str = Field(default="", description="what has to be fixed: the feedback without the synthesis")
    synthesis: Text = Field(description="the review in one text")
    child_id: str = Field(description="the review")


class PlanReturned(OrchestrationTransition):
    """A person wants the plan revised; the planner is asked again with the synthesis (K-24)."""

    TOPIC: ClassVar[str] = "orchestration.plan_returned"
    synthesis: Text = Field(description="the debate in one text")
    child_id: str = Field(description="the debate")


class RoundDone(OrchestrationEvent):
    """The round is over: on to the next, or complete."""

    TOPIC: ClassVar[str] = "orchestration.round_done"
    action: Literal["next", "complete"] = Field(description="how it goes on")
    agent_phases: tuple[AgentPhase, ...] = Field(description="where everybody stands")
    all_done: bool = Field(default=False, description="whether the judge said that all is done")


class CheckpointReached(OrchestrationTransition):
    """The requested scope is done and a person decides how it goes on; agents pause, their sessions are kept (K-2)."""

    TOPIC: ClassVar[str] = "orchestration.checkpoint_reached"
    summary: Text = Field(description="what was done so far")
    hint: str = Field(description="how to go on, for people")


class PartialReached(OrchestrationTransition):
    """The rounds are used up, or no plan was to be had; the session can be continued (K-46)."""

    TOPIC: ClassVar[str] = "orchestration.partial_reached"
    reason: Literal["rounds", "plan_invalid", "turn_failed", "agent_failed"] = Field(description="why it stops")
    summary: Text = Field(description="what was done so far")
    done: tuple[str, ...] = Field(default=(), description="agents who are through")
    pending: tuple[str, ...] = Field(default=(), description="agents who are not")


class Completed(OrchestrationTransition):
    """The request is answered, or all its work is done."""

    TOPIC: ClassVar[str] = "orchestration.completed"
    summary: Text = Field(description="the answer, or what was done")
    all_done: bool = Field(default=False, description="whether the judge said so")


class OrchestrateDone(OrchestrationEvent):
    """Announces the end of a run (§1.13)."""

    TOPIC: ClassVar[str] = "orchestration.orchestrate_done"
    text: Text = Field(description="the summary")
    origin: str = Field(description="the conversation that it goes to")
    status: str = Field(description="how the session stands")
    checkpoint: bool = Field(default=False, description="whether it paused at a checkpoint")


class Continued(OrchestrationTransition):
    """A person let a paused or partial run go on from where it stood (K-7, K-9)."""

    TOPIC: ClassVar[str] = "orchestration.continued"
    agents: tuple[AgentPhases, ...] = Field(description="each agent's part from here on")
    last_round: int = Field(description="the round after which it stops")
    origin: str = Field(description="the conversation that it belongs to")


class OrchestrationRetried(OrchestrationTransition):
    """A person has the turn that failed asked again; everything before it stays."""

    TOPIC: ClassVar[str] = "orchestration.retried"
    why: str = Field(default="", description="as the person gave it")


class RoundsAdded(OrchestrationEvent):
    """A person gave more rounds."""

    TOPIC: ClassVar[str] = "orchestration.rounds_added"
    add_rounds: int = Field(description="how many")
    last_round: int = Field(description="the round after which it stops")
    why: str = Field(description="as the person gave it")


class WasReset(OrchestrationTransition):
    """A person ended the run for good; its history stays (K-17, K-20)."""

    TOPIC: ClassVar[str] = "orchestration.reset"
    reason: str = Field(description="as the person gave it")
    origin: str = Field(description="the conversation that it belongs to")
    summary: Text = Field(description="what was done so far")
    children: tuple[str, ...] = Field(default=(), description="discussions that end with it")


EVENTS: tuple[type[DomainEvent], ...] = (
    OrchestrationStarted,
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
    OrchestrationRetried,
    RoundsAdded,
    WasReset,
)
