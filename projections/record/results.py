"""Shows what a session has changed, as its view reports it."""

import posixpath
from collections.abc import Collection, Iterable
from typing import Literal

from domain.checks.deciding_files import decides
from domain.checks.instruction_files import COMMON, is_instruction
from domain.checks.test_files import is_test
from domain.delivery.state import Delivery
from domain.orchestration.state import Orchestration
from domain.session.forge import ReviewCommented
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.session.workspace import EVERYTHING, PathScope, touched
from domain.values.sentences import coded
from projections.views.session import (
    LandedView,
    LandingView,
    PullRequestCheck,
    PullRequestChecks,
    PullRequestComment,
    PullRequestView,
    ResultBase,
    ResultFile,
    ResultView,
    ReviewedView,
)


def result_of(session: Session, planned: Collection[str], scope: PathScope = EVERYTHING) -> ResultView | None:
    """None as long as nothing has changed. `planned` are the files and folders that the request or the plan named,
    relative to the workspace."""
    base, changes = session.base, session.changes
    if base is None or changes is None or not changes.files:
        return None
    reviewed = session.reviewed
    deciding = _deciding(session, [file.path for file in changes.files])
    folder = _below(session.workspace, base.repository)
    names = tuple(posixpath.normpath(posixpath.join(folder, path)) for path in planned)
    return ResultView(
        repository=base.repository,
        base=ResultBase(branch=base.base_branch, commit=base.base_commit, reviewed_on=base.reviewed_on),
        branch=session.branch,
        branch_problem=session.branch_problem and str(session.branch_problem),
        branch_problem_sentence=coded(session.branch_problem),
        head=session.result_head or changes.head,
        commits=changes.commits,
        files=tuple(
            ResultFile(**dict(file), named=_is_named(file.path, names), decides=_decides(file.path, deciding))
            for file in changes.files
        ),
        names_files=bool(names),
        validated=session.validated,
        why=session.proves_nothing,
        reviewed=ReviewedView(shown=reviewed.shown, of=reviewed.of) if reviewed else None,
        landed=LandedView(branch=session.landed.onto, commit=session.landed.commit) if session.landed else None,
        landing=_landing(session),
        pull_request=pull_request_view(session, session.forge) if session.forge else None,
        outside=scope.outside_of(touched(changes)),
    )


def _landing(session: Session) -> LandingView | None:
    """The outcome of the newest landing. What older logs call sent back because of the checkout was not tried."""
    if session.forge is not None and (merged := session.forge.merged):
        return LandingView(onto=session.forge.base, status="landed", commit=merged.commit, reason=None, paths=())
    if not_tried := session.not_tried:
        return LandingView(
            onto=not_tried.onto,
            status="not_tried",
            commit=None,
            reason=not_tried.reason,
            paths=not_tried.paths,
            detail=not_tried.detail or None,
            sentence=not_tried.sentence,
        )
    if back := session.sent_back:
        status: Literal["sent_back", "not_tried"] = "not_tried" if back.reason == "checkout" else "sent_back"
        return LandingView(
            onto=back.onto,
            status=status,
            commit=None,
            reason=back.reason,
            paths=back.paths,
            detail=back.detail or None,
        )
    if landed := session.landed:
        return LandingView(onto=landed.onto, status="landed", commit=landed.commit, reason=None, paths=())
    return None


def _deciding(session: Session, paths: Iterable[str]) -> frozenset[str]:
    """Returns the paths that decide what is validated, or what agents do: those that were marked for the
    reviewer, or without a review, those that are known by their names."""
    if session.reviewed is not None:
        return frozenset(session.reviewed.deciding)
    steps = session.steps if isinstance(session, Delivery | Orchestration) else ()
    commands = tuple(step.command for step in steps)
    return frozenset(path for path in paths if is_test(path) or decides(path, commands) or is_instruction(path, COMMON))


def _decides(path: str, deciding: Collection[str]) -> Literal["settings", "test"] | None:
    if path not in deciding:
        return None
    return "test" if is_test(path) else "settings"


def _below(workspace: str | None, repository: str | None) -> str:
    """Returns where the workspace is in its repository; empty for the root."""
    if not workspace or not repository or not workspace.startswith(f"{repository}/"):
        return ""
    return workspace.removeprefix(f"{repository}/")


def _is_named(path: str, names: Collection[str]) -> bool:
    """Returns whether the file itself was named, or a folder above it."""
    return any(path == name or name == "." or path.startswith(f"{name}/") for name in names)


def pull_request_view(session: Session, pull: OwnPullRequest) -> PullRequestView:
    """The pull request as it stands."""
    checks = pull.checks
    return PullRequestView(
        forge=pull.forge,
        project=pull.project,
        number=pull.number,
        url=pull.url or None,
        state=pull.state,
        follow=pull.follow,
        base=pull.base,
        branch=pull.branch,
        head=pull.head,
        checks=PullRequestChecks(
            head=checks.head,
            conclusion=checks.conclusion,
            items=tuple(
                PullRequestCheck(name=each.name, conclusion=each.conclusion, url=each.url) for each in checks.checks
            ),
        )
        if checks
        else None,
        mergeable=None if pull.number is None else pull.conflict is None,
        comments=tuple(_comment(session, each) for each in pull.comments),
        revisions=pull.revised,
        rest=pull.rest,
        detail=pull.rest_detail or None,
        waiting=pull.push.paths if pull.push is not None and pull.push.hold else (),
        unavailable=pull.lost.why if pull.lost else None,
        issue=pull.issue.url if pull.issue else None,
    )


def _comment(session: Session, comment: ReviewCommented) -> PullRequestComment:
    own = session.comments.by_id.get(comment.comment_id or "")
    return PullRequestComment(
        id=comment.id,
        by=comment.by,
        path=comment.path,
        line=comment.line,
        text=comment.text,
        head=comment.head,
        counts=comment.counts,
        url=comment.url,
        comment_id=comment.comment_id,
        status=own.status if own else None,
    )
