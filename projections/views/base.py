"""The base of every view."""

from typing import Any

from pydantic import ConfigDict, Field

from domain.session.revisions import RevisionStatus
from domain.session.team_decisions import DecisionPolicy, Vote, missing
from domain.values.base import Value, iso


class View(Value):
    """An answer: frozen, camelCase on the wire. Readers ignore fields that a newer server adds."""

    model_config = ConfigDict(extra="ignore")

    def json_bytes(self) -> bytes:
        return self.model_dump_json(by_alias=True).encode()

    def wire(self) -> dict[str, Any]:
        """The answer as plain JSON values, for templates."""
        return self.model_dump(mode="json", by_alias=True)


class Page(View):
    """A page of a list; `next_cursor` is null on the last one."""

    next_cursor: str | None


def empty(value: object) -> bool:
    """For `exclude_if`: a list without entries is left out."""
    return not value


class PermissionRequestView(View):
    """An agent waits for permission to use a tool."""

    request_id: str
    turn_id: str
    agent: str
    role: str
    tool: str
    title: str = Field(description="what it is to be used for: of `execute` the command line")
    paths: tuple[str, ...]
    since: str


class RevisionView(View):
    """A person wants changes in the result."""

    revision_id: str
    by: str
    at: str
    status: RevisionStatus = Field(
        description="`queued` until an agent has it, `done` when the session has come to its end with it"
    )


# How a team decides: who may, what was voted, and what is missing.


class VoteView(View):
    """A person's vote; a later one of the same person replaces it."""

    actor: str
    choice: str
    rationale: str
    at: str


class ApprovalView(View):
    """The team file's rules for a decision, and the votes so far."""

    approvers: int = Field(description="how many people have to make the same choice")
    not_author: bool = Field(description="whether those in `authors` may not decide")
    authors: tuple[str, ...] = Field(description="who started or forked the session")
    who: tuple[str, ...] = Field(description="the keys that may decide; empty: every key with the scope")
    votes: tuple[VoteView, ...]
    missing: dict[str, int] = Field(description="for each choice, how many more people have to choose it")
    remind_at: tuple[str, ...] = Field(default=(), description="when a reminder is sent while it waits")


def approval_view(
    policy: DecisionPolicy, choices: tuple[str, ...], votes: tuple[Vote, ...], since: int | None
) -> ApprovalView:
    """`since` in milliseconds: when the decision began to wait, if it does."""
    return ApprovalView(
        approvers=policy.approvers,
        not_author=policy.not_author,
        authors=policy.authors,
        who=policy.who,
        votes=vote_views(votes),
        missing=missing(policy, choices, votes),
        remind_at=() if since is None else tuple(iso(since + ms) for ms in policy.remind_ms),
    )


def vote_views(votes: tuple[Vote, ...]) -> tuple[VoteView, ...]:
    return tuple(
        VoteView(actor=vote.actor, choice=vote.choice, rationale=vote.rationale, at=iso(vote.at)) for vote in votes
    )
