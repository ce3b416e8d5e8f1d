"""Publishes the work as a branch: together with what people have committed there, once that passes its validation."""

import asyncio
from typing import Final, NamedTuple

from adapters.turns.folder import workspace_of
from adapters.turns.job import Job
from adapters.turns.merged_check import CheckMerged, MergedCheck
from adapters.turns.people_commits import newest_people_commits, own_branch
from adapters.turns.result.changes import text
from adapters.workspace import Workspaces
from adapters.workspace.conversion import converted
from adapters.workspace.conversion_scratch import Fencing
from adapters.workspace.git import Lasting
from adapters.workspace.publication import BranchMoved, hand_over, move_on, state_before
from adapters.workspace.references import IN_USE
from domain.delivery.state import Delivery
from domain.session.attempts import Failure, FailureCode
from domain.session.turns import RecordPackage
from domain.session.workspace import BranchWas, PeopleCommits
from domain.values.base import Blob, HansardError
from domain.values.sentences import Sentence, because, sentence_of

_TRIES: Final = 3
"""How often a branch is looked at that people go on committing to."""


class CommitsFail(Lasting):
    """The work passes its validation, but not together with what people have committed on its branch."""


class _Published(NamedTuple):
    branch: str | None
    commit: str
    recorded: str
    branch_was: BranchWas | None = None


async def publish(job: Job, workspaces: Workspaces, fencing: Fencing, check: CheckMerged) -> RecordPackage:
    """The work as a patch and, in the person's repository, a branch with what their git would have committed; the
    checkout does not change. `fencing` is around their filters. What people have committed on the branch since becomes
    part of it only if the validation passes on both together."""
    session, people, checked = job.session, None, dict[str, PeopleCommits]()
    problem: Sentence | None = None
    try:
        for tries_left in reversed(range(_TRIES)):
            people = await asyncio.to_thread(newest_people_commits, job, workspaces)
            if people is not None and people.tree not in checked:
                result = await check(job, people.tree)
                if result.failure is not None:
                    return _failed(job, result.failure)
                checked[people.tree] = _passing(job, people, result)
            people = checked[people.tree] if people is not None else None
            try:
                done = await asyncio.to_thread(_published, job, workspaces, fencing, people)
                break
            except BranchMoved:
                if not tries_left:
                    raise
    except HansardError as error:
        reason = sentence_of(error)
        problem = because(Sentence("branch_not_made", branch=_wanted(job)), reason)
        if own_branch(session) is not None and isinstance(session, Delivery):
            code: FailureCode = "branch" if isinstance(reason, Sentence) and reason.code in IN_USE else "refused"
            return _failed(job, Failure.of(code, problem))
        people, done = None, await asyncio.to_thread(_unpublished, job, workspaces)
    return await asyncio.to_thread(_command, job, workspaces, done, people, problem)


def _passing(job: Job, people: PeopleCommits, result: MergedCheck) -> PeopleCommits:
    """The commits, with the commands that pass on them and the work. Raises CommitsFail."""
    if result.reasons:
        fields = {
            "branch": _wanted(job),
            "by": people.by,
            "reasons": "; ".join(reason.removesuffix(".") for reason in result.reasons[:3]),
        }
        raise CommitsFail(Sentence("commits_fail_validation", **fields))
    return people.changed(validated=result.commands)


def _wanted(job: Job) -> str:
    return own_branch(job.session) or f"hansard/{job.session.id}"


def _published(job: Job, workspaces: Workspaces, fencing: Fencing, people: PeopleCommits | None) -> _Published:
    workspace = workspace_of(job, workspaces)
    recorded = people.tree if people is not None else job.session.tree or workspace.base()
    commit = converted(workspace, recorded, fencing)
    before, wanted = own_branch(job.session), _wanted(job)
    was = state_before(workspace, wanted, job.session.published if before else None)
    branch = (move_on if before else hand_over)(workspace, commit, wanted)
    return _Published(branch, commit, recorded, was if branch else None)


def _unpublished(job: Job, workspaces: Workspaces) -> _Published:
    """The work without a branch."""
    recorded = job.session.tree or workspace_of(job, workspaces).base()
    return _Published(None, recorded, recorded)


def _command(
    job: Job, workspaces: Workspaces, done: _Published, people: PeopleCommits | None, problem: Sentence | None
) -> RecordPackage:
    workspace, blobs = workspace_of(job, workspaces), list[Blob]()
    branch, commit, recorded, was = done
    return RecordPackage(
        people=people,
        turn_id=job.lease.turn_id,
        attempt=job.lease.attempt,
        branch=branch,
        branch_was=was,
        made_of=recorded if branch and commit != recorded else None,
        commit=commit if branch or job.session.kind == "orchestration" else None,
        patch=text(workspace.patch(workspace.base(), recorded), blobs),
        problem=problem and str(problem),
        sentence=problem,
        slot=job.slot,
        blobs=tuple(blobs),
    )


def _failed(job: Job, failure: Failure) -> RecordPackage:
    return RecordPackage(turn_id=job.lease.turn_id, attempt=job.lease.attempt, failure=failure, slot=job.slot)
