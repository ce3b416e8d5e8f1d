"""The folder in which a turn is worked on, and whether another session may have it."""

from functools import partial
from pathlib import Path
from typing import Final

from adapters.agents.presets.catalogue import instruction_names
from adapters.turns.conversation import last_result
from adapters.turns.job import Job, Load
from adapters.workspace import Workspace, Workspaces
from adapters.workspace.bases import based_on
from adapters.workspace.reviewed_diff import ReviewedPatch
from domain.checks.instruction_files import is_instruction
from domain.delivery.state import Delivery
from domain.values.base import HansardError

ENDED: Final = ("success", "cancelled", "done", "reset", "decided")
"""Statuses in which no one has to continue the session. A failed one may be retried."""


def workspace_of(job: Job, workspaces: Workspaces) -> Workspace:
    """Blocks: the first time, it copies the person's repository."""
    session = job.session
    if session.forked_from is not None:
        workspaces.copy(job.ancestors, session.id)
    source = Path(session.workspace) if session.workspace else None
    earlier = partial(last_result, session, job.load, workspaces.root)
    reviewed = _reviewed(job)
    made = workspaces.open(
        session.home or session.id, source, earlier, filters=job.preparation.filters, reviewed=reviewed
    )
    base = _merged_base(job)
    return made if base is None or base == made.start else based_on(made, base)


def _merged_base(job: Job) -> str | None:
    """The commit of the base branch that was merged into the work, perhaps on another machine."""
    session = job.session
    return session.base.base_commit if session.base is not None and session.forge is not None else None


def _reviewed(job: Job) -> ReviewedPatch | None:
    """The person's uncommitted changes that the session starts with, if any."""
    session = job.session
    diff = session.starts_with if isinstance(session, Delivery) else None
    return None if diff is None else ReviewedPatch(diff.commit, job.whole(diff.patch))


def checkout(job: Job, workspaces: Workspaces, tree: str | None = None) -> Path:
    """The job's folder, in the recorded state or that of `tree`."""
    workspace = workspace_of(job, workspaces)
    return workspace.checkout(tree=tree or job.start, slot=job.folder, resting=partial(has_ended, job.load))


def judged(job: Job, workspaces: Workspaces) -> Path:
    """The job's folder for an agent that only reads: the files that agent programs obey are as they were before the
    work, so that who wrote it gives no orders to who judges it."""
    workspace, session = workspace_of(job, workspaces), job.session
    if workspace.in_place is not None:
        return checkout(job, workspaces)
    tree, names = session.tree or workspace.base(), instruction_names()
    changed = [path for path in workspace.changed_files(workspace.base(), tree) if is_instruction(path, names)]
    folder = checkout(job, workspaces, workspace.with_base_files(tree, changed) if changed else tree)
    workspace.remove_unknown(folder, names, keep=(*job.preparation.copy_paths, *job.preparation.link))
    return folder


def pristine(job: Job, workspaces: Workspaces, tree: str | None = None, *, as_in_clone: bool = False) -> Path:
    """The same, without what agents, or the code that they wrote, have left in it."""
    return workspace_of(job, workspaces).pristine(
        tree=tree or job.session.tree,
        slot=job.folder,
        linked=job.preparation.link,
        resting=partial(has_ended, job.load),
        as_in_clone=as_in_clone,
    )


def has_ended(load: Load, session_id: str) -> bool:
    """True if a session has ended well, or for good, so that its folders are not needed: another may have them. Should
    somebody continue it after all, a folder is made again from the record."""
    try:
        session = load(session_id)
    except (HansardError, ValueError):  # what cannot be read may still be wanted
        return False
    if session is None or session.status not in ENDED:
        return False
    return not (session.outstanding or session.open_children)


def left(job: Job, workspaces: Workspaces) -> Path:
    """The job's folder, as its agent left it."""
    workspace = workspace_of(job, workspaces)
    return workspace.in_place or workspace.home / f"tree-{job.folder}" / workspace.prefix
