"""Takes over what people have committed on the branch of a session, before a turn goes on from it."""

from pathlib import Path
from typing import NamedTuple

from adapters.turns.folder import workspace_of
from adapters.turns.job import Job
from adapters.workspace import Workspaces
from domain.session.state import Session
from domain.session.workspace import PeopleCommits
from domain.values.base import changed


def own_branch(session: Session) -> str | None:
    """Returns the branch that the session was published as; None before that, and for a fork of one that was."""
    name, branch = f"hansard/{session.id}", session.branch
    published = branch is not None and session.published is not None
    return branch if published and branch is not None and (branch == name or branch.startswith(f"{name}-")) else None


class _Wanted(NamedTuple):
    repository: Path
    branch: str


def with_people_commits(job: Job, workspaces: Workspaces) -> Job:
    """The job, with the commits that it begins with. The same for each attempt of a turn, once they were found. Blocks.
    Raises CommitsInTheWay."""
    if job.request.access != "write" or (wanted := _wanted(job)) is None:
        return job
    people = _new_commits(job, workspaces, wanted, name=job.request.turn_id)
    return job if people is None else changed(job, people=people)


def with_commits_of_claim(job: Job, workspaces: Workspaces) -> Job:
    """The job of an answer that comes from elsewhere, with the commits that were in its folder at the claim: what
    came later is not in there. Blocks."""
    if job.request.access != "write" or (wanted := _wanted(job)) is None:
        return job
    people = _new_commits(job, workspaces, wanted, name=job.request.turn_id, looks=False)
    return job if people is None else changed(job, people=people)


def newest_people_commits(job: Job, workspaces: Workspaces) -> PeopleCommits | None:
    """Returns what is on the branch and not in the work, now that it is to be published. Blocks. Raises
    CommitsInTheWay."""
    wanted = _wanted(job)
    return None if wanted is None else _new_commits(job, workspaces, wanted)


def _wanted(job: Job) -> _Wanted | None:
    """The branch to look at: one that the session has published before."""
    session = job.session
    branch, base = own_branch(session), session.base
    if branch is None or base is None or base.repository is None:
        return None
    repository = Path(base.repository)
    return _Wanted(repository, branch) if repository.is_dir() else None


def _new_commits(
    job: Job, workspaces: Workspaces, wanted: _Wanted, name: str = "", *, looks: bool = True
) -> PeopleCommits | None:
    workspace = workspace_of(job, workspaces)
    state, same_form = job.session.tree or workspace.base(), job.session.made_of is None
    news = workspace.commits_on(wanted.branch, state=state, same_form=same_form, name=name, looks=looks)
    if news is None:
        return None
    commits, by, tree = news
    return PeopleCommits(commits=commits, by=by, tree=tree, changes=workspace.changes(tree))
