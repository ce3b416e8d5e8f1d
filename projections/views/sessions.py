"""Sessions in a list, and pages of them."""

from typing import Literal

from pydantic import Field

from domain.convergence.assessment import Recommendation
from domain.session.waits import WaitsFor
from domain.values.base import absent
from domain.values.sentences import Sentence
from projections.views.base import Page, View
from projections.views.session import LandingView, Listed


class OutcomeView(View):
    """How a session ended. What its kind does not have is null."""

    checks: tuple[str, ...] = Field(description="the first validation commands of a delivery")
    branch: str | None = Field(description="the branch with the work")
    reason: str | None = Field(
        default=None, exclude_if=absent, description="`no_change` where work was done and no file was changed"
    )
    unchanged: bool | None = Field(
        default=None, exclude_if=absent, description="true if work that failed, or was ended, has changed no file"
    )
    choice: str | None = Field(description="what was decided about a discussion")
    by: str | None = Field(description="who decided, cancelled or reset it; null if no one did")
    words: str | None = Field(description="why: the reason given, the answer, or what failed; the first characters")
    words_sentence: Sentence | None = Field(
        default=None, exclude_if=absent, description="the words as code and parameters, where Hansard wrote them"
    )


class PullRequestRow(View):
    """The pull request of a session in a list. `checks`: of the newest commit, once all had ended."""

    number: int | None = Field(description="null until it is open")
    url: str | None
    state: Literal["none", "open", "merged", "closed"]
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
    held: bool = Field(description="a fork that waits, where no recorded answer fits, until a person continues it")
    landing: LandingView | None = Field(default=None, exclude_if=absent, description="the outcome of the newest `land`")
    pull_request: PullRequestRow | None = Field(
        default=None, exclude_if=absent, description="its pull request, if one was wanted and the work is done"
    )
    forked_at: int | None = Field(description="the last event that a fork shares with its source")
    outcome: OutcomeView | None = Field(description="how it ended; null while it has not")


class SessionPage(Page):
    items: tuple[SessionItem, ...]
