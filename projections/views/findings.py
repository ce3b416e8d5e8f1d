"""The answer about a session's findings: one row each, with its life, and whether another round is worth it."""

from typing import Literal

from pydantic import Field

from domain.findings.advice import Recommendation
from domain.findings.finding import Fact, FindingAct, FindingOrigin, FindingState
from domain.findings.match import Match
from domain.findings.report_words import FindingWeight
from domain.session.comments import CommentStatus
from projections.views.base import View

FindingKind = Literal["blocking", "remark", "verdict", "comment"]


class BecauseView(View):
    """A fact, the event that shows it, and the finding that it is about, if it is about one."""

    fact: Fact
    version: int
    finding: str | None = None


class FindingEvent(View):
    """Something that happened to a finding."""

    version: int
    act: FindingAct | Literal["answered", "settled"]
    by: str = ""
    round: int | None = Field(default=None, description="of a look: the iteration or round")
    turn: str | None = None
    match: Match | None = Field(default=None, description="how surely a report is about this finding")


class FindingView(View):
    """What several reports are about, in the words of the newest, or a person's comment."""

    finding: str = Field(description="its name in this session; of a comment the comment's id")
    kind: FindingKind
    source: Literal["reviewer", "discussion", "judge", "person"]
    title: str
    detail: str
    by: str = Field(description="who raised it; of a verdict the agent that it is about")
    severity: str = Field(description="as the reviewer gave it; often empty")
    blocking: bool
    path: str | None
    line: int | None = Field(description="where its line is now, followed through every patch")
    gone: bool = Field(description="whether its line is not there any more")
    match: Match = Field(description="how it was recognized: `maybe` counts as new")
    perhaps: str | None = Field(description="the finding that it may repeat")
    origin: FindingOrigin | None = Field(description="where it comes from; null for comments and verdicts")
    weight: FindingWeight
    state: FindingState | None = Field(description="null for a comment that a person has taken back")
    status: CommentStatus | None = Field(description="of a comment, as it stands")
    open: bool
    because: tuple[BecauseView, ...] = Field(description="the facts behind its origin and its state")
    life: tuple[FindingEvent, ...]


class LookView(View):
    """A look of somebody who judges."""

    version: int
    round: int
    by: str
    full: bool = Field(description="whether all of the work was in scope")
    blocking: int
    remarks: int
    quiet: int = Field(description="looks up to here in a row in which nothing mattered")
    recommendation: Recommendation
    because: tuple[BecauseView, ...]


class FindingsView(View):
    """Every finding in the order in which it was raised, then people's comments. It only shows, it steers nothing."""

    policy: str
    version: int
    items: tuple[FindingView, ...]
    rounds: tuple[LookView, ...]
    quiet: int
    recommendation: Recommendation
    because: tuple[BecauseView, ...]
