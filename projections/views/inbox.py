"""Items of the inbox, and pages of them."""

from typing import Literal

from pydantic import Field

from domain.convergence.assessment import Metrics
from domain.discussion.events import StopReason
from domain.session.waits import WaitsFor
from domain.values.base import absent
from domain.values.sentences import Sentence
from projections.views.base import ApprovalView, Page, View, empty


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
    checked_out_in: str | None = Field(
        default=None, exclude_if=absent, description="of a branch in use: the folder in which it is checked out"
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
