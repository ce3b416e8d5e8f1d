"""Views across sessions: the list, the inbox, and what an origin is busy with."""

from typing import Literal

from pydantic import Field

from domain.convergence.assessment import Metrics, Recommendation
from domain.discussion.events import StopReason
from domain.session.waits import WaitsFor
from domain.values.base import absent
from domain.values.sentences import Sentence
from projections.views.base import ApprovalView, Page, View, empty
from projections.views.session import LandingView, Listed, ResultView


class OutcomeView(View):
    """How a session ended. What its kind does not have is null."""

    checks: tuple[str, ...] = Field(description="the first validation commands of a delivery")
    branch: str | None = Field(description="the branch with the work")
    reason: str | None = Field(
        default=None, exclude_if=absent, description="`no_change` where work was done and no file was changed"
    )
    choice: str | None = Field(description="what was decided about a discussion")
    by: str | None = Field(description="who decided, cancelled or reset it; null if no one did")
    words: str | None = Field(description="why: the reason given, the answer, or what failed; the first characters")
    words_sentence: Sentence | None = Field(
        default=None, exclude_if=absent, description="the words as code and parameters, where Hansard wrote them"
    )


class PullRequestRow(View):
    """The pull request of a session in a list. `checks`: of the newest commit, once all had ended."""

    number: int
    url: str
    state: Literal["open", "merged", "closed"]
    checks: Literal["success", "failure"] | None
    rest: str | None = Field(description="why nothing more is done until a person acts")
    unavailable: str | None = Field(description="what the forge does instead of answering")


class SessionItem(Listed):
    """A session in a list."""

    owner: str = Field(description="who started it")
    repository: str | None = Field(description="the workspace that it was started on, where one was named")
    current_phase: str | None
    iteration: int | None
    max_iterations: int | None
    round: int | None
    max_rounds: int | None
    last_round: int | None = Field(description="the round after which a run stops unless it is given more")
    strategy: str | None
    convergence_score: float | None
    recommendation: Recommendation | None
    waiting: WaitsFor | None = Field(description="what it needs from a person to continue")
    landing: LandingView | None = Field(default=None, exclude_if=absent, description="the outcome of the newest `land`")
    pull_request: PullRequestRow | None = Field(
        default=None, exclude_if=absent, description="its pull request, once it is open"
    )
    forked_at: int | None = Field(description="the last event that a fork shares with its source")
    outcome: OutcomeView | None = Field(description="how it ended; null while it has not")


class SessionPage(Page):
    items: tuple[SessionItem, ...]


class FeedbackSummary(View):
    """The feedback in short: `points` counts its issues or concerns."""

    verdict: str | None
    summary: str
    points: int
    error: str | None


class WaitingItem(View):
    """Something that waits for a person since `since`. What its kind does not have is null."""

    session_id: str
    kind: Literal["delivery", "orchestration", "review", "debate", "permission"]
    waits_for: WaitsFor = Field(description="what a person has to give")
    reason: WaitsFor = Field(description="the older name of `waitsFor`", json_schema_extra={"deprecated": True})
    cause: str = Field(description="why, as a code: iterations, rounds, converged, plan_invalid …")
    why: str = Field(description="the same as a sentence")
    title: str
    owner: str = Field(description="who started the session")
    repository: str | None = Field(description="the workspace that the session was started on, where one was named")
    cost_micros: int | None = Field(description="its cost so far, in millionths; null if not reported")
    parent: str | None
    about: str | None = Field(description="of a parent: plan, agent:<place> or delivery")
    since: str
    version: int
    choices: tuple[str, ...]
    request_id: str | None = Field(default=None, description="of a permission or scope: what the answer names")
    agent: str | None = Field(default=None, exclude_if=absent, description="of a permission: who asks")
    tool: str | None = Field(default=None, exclude_if=absent, description="of a permission: the tool it wants to use")
    question: str | None = Field(
        default=None, exclude_if=absent, description="of a permission: what for, such as a command line"
    )
    paths: tuple[str, ...] | None = Field(default=None, exclude_if=absent, description="of a permission: its files")
    stop_reason: StopReason | None
    convergence: Metrics | None
    feedback: FeedbackSummary | None
    synthesis: str | None = Field(description="its first characters")
    summary: str | None = Field(
        description="of the orchestration's work so far, the paths outside the scope, or what rejected the work of a"
        " delivery without budget last (a failing test, a finding): the first characters"
    )
    summary_sentence: Sentence | None = Field(
        default=None, exclude_if=absent, description="the summary as code and parameters, where Hansard wrote it"
    )
    notes: tuple[Sentence, ...] = Field(
        default=(),
        exclude_if=empty,
        description="what the checks of the result leave open: not validated, weakened, flaky, reviewed in part",
    )
    expires_at: str | None
    seen: str | None = Field(
        default=None, exclude_if=absent, description="of a decision: the digest of the diff and findings it is about"
    )
    approval: ApprovalView | None = Field(
        default=None, exclude_if=absent, description="how the team decides it, if the team file says so"
    )


class DecisionPage(Page):
    items: tuple[WaitingItem, ...]


class WaitingMessage(View):
    """A message in the queue; its session has this id and starts when its turn comes."""

    session_id: str
    prompt: str
    title: str
    sender: str
    queued_at: str


class ChannelView(View):
    """What an origin is busy with (a session, or null), its latest session, and its queue, in order."""

    origin: str
    busy: str | None
    latest: str | None
    queue: tuple[WaitingMessage, ...]


class ConversationItem(View):
    """Messages of one origin. `waiting`: a session that rests at a checkpoint or stopped; `running`: one at work."""

    origin: str
    updated_at: str
    waiting: str | None
    running: str | None
    messages: int = Field(description="of both sides")


class ConversationPage(Page):
    items: tuple[ConversationItem, ...]


class ConversationLine(View):
    """What a person or the team said."""

    at: str
    author: Literal["person", "team"] = Field(alias="from")
    text: str
    session_id: str


class ConversationView(View):
    origin: str
    messages: tuple[ConversationLine, ...] = Field(description="oldest first; those that wait come last")
    waiting: str | None
    running: str | None
    result: ResultView | None = Field(description="the last result; the next message starts from it")
