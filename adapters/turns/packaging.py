"""Handing the work over."""

from adapters.turns.job import Job, text, workspace_of
from adapters.workspace import Workspaces
from domain.delivery.commands import RecordPackage
from domain.values.base import Blob, HansardError


def publish(job: Job, workspaces: Workspaces) -> RecordPackage:
    """The work as a patch and, in the person's repository, a branch; their checkout stays as it is."""
    workspace = workspace_of(job, workspaces)
    base = workspace.base()
    commit = job.session.tree or base
    blobs: list[Blob] = []
    branch, problem = f"hansard/{job.session.id}", None
    try:
        published = workspace.publish(commit, branch)
    except HansardError as error:
        published, problem = False, f"The branch {branch} could not be made: {error}"
    return RecordPackage(
        turn_id=job.lease.turn_id,
        attempt=job.lease.attempt,
        branch=branch if published else None,
        commit=commit if published else None,
        patch=text(workspace.patch(base, commit), blobs),
        problem=problem,
        slot=job.slot,
        blobs=tuple(blobs),
    )
