"""The changes of a turn: files are written, the state of the folder is recorded and merged."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from adapters.agents.port import Reply
from adapters.references import NO_SECRETS, Secrets
from adapters.turns.folder import checkout, workspace_of
from adapters.turns.job import Job
from adapters.turns.result.commit_message import commit_message
from adapters.turns.result.secrets import check_of, check_texts, refuse_masked
from adapters.workspace import DoesNotFit, Workspace, Workspaces, patched
from domain.delivery.state import Delivery
from domain.orchestration.state import Orchestration
from domain.replies.delivery import FileChange, changes
from domain.session.attempts import Failure
from domain.session.state import Session
from domain.session.turns import RecordReply
from domain.session.workspace import WorkspaceChanges, WorkspacePrepared
from domain.values.base import Blob, HansardError, Text, Unreadable
from domain.values.sentences import sentence_of


class Changes(NamedTuple):
    """The files that differ, how, and the state afterwards."""

    files: tuple[str, ...] = ()
    patch: str | None = None
    tree: str | None = None
    since_base: WorkspaceChanges | None = None


NOTHING = Changes()


def keep(
    job: Job,
    workspaces: Workspaces,
    reply: Reply,
    folder: Path | None,
    *,
    model: str | None = None,
    secrets: Secrets = NO_SECRETS,
) -> Changes:
    """Write the files that an agent sent, and record the state of its folder, if it has one. Raises Unreadable for
    changes that do not fit, that contain a secret, or that no commit can hold: then nothing is recorded."""
    file_changes = changes(reply.text) if job.request.role == "dev" else ()
    if folder is None and not file_changes and not reply.files:
        return NOTHING
    if folder is None:
        folder = checkout(job, workspaces)
    workspace = workspace_of(job, workspaces)
    refuse_masked(reply.masked, file_changes)
    _write(file_changes, reply.files, workspace, folder, secrets)
    before = job.start or workspace.base()
    message = commit_message(job.request, job.session, model)
    check = check_of(secrets)
    try:
        tree = workspace.snapshot(folder, message=message, parent=before, author=job.request.agent, check=check)
    except DoesNotFit as problem:
        raise Unreadable(sentence_of(problem)) from None
    return Changes(
        files=workspace.changed_files(before, tree),
        patch=workspace.patch(before, tree),
        tree=tree,
        since_base=workspace.changes(tree) if tree != before or job.people is not None else None,
    )


def base_of(job: Job, workspaces: Workspaces) -> WorkspacePrepared | None:
    """The start of the session's workspace, if it exists by now and this is not recorded yet."""
    session = job.session
    if not isinstance(session, Delivery | Orchestration) or session.base is not None:
        return None
    if not workspaces.exists(session.id):
        return None
    workspace = workspace_of(job, workspaces)
    return WorkspacePrepared(
        repository=workspace.repository,
        base_branch=workspace.branch,
        base_commit=workspace.base(),
        dirty=workspace.dirty,
        reviewed_on=workspace.reviewed_on,
    )


def _write(
    file_changes: Sequence[FileChange], files: Mapping[str, str], workspace: Workspace, folder: Path, secrets: Secrets
) -> None:
    """The agent's changes are its answer: those that do not fit are asked for again. Files that its adapter or its
    worker sends are not."""
    try:
        contents = _contents(file_changes, workspace, folder)
        _check(secrets, contents, workspace, folder)
        if not files:
            workspace.write_files(folder, contents)
    except DoesNotFit as problem:
        raise Unreadable(sentence_of(problem)) from None
    if files:
        _check(secrets, files, workspace, folder)
        workspace.write_files(folder, {**contents, **files})


def _check(secrets: Secrets, contents: Mapping[str, str | bytes | None], workspace: Workspace, folder: Path) -> None:
    """Before they are written: a folder without git cannot be restored."""
    if secrets.spellings:
        check_texts(secrets, contents, {path: workspace.read_file(folder, path) or b"" for path in contents})


def _contents(file_changes: Iterable[FileChange], workspace: Workspace, folder: Path) -> dict[str, str | bytes | None]:
    """The new contents of each file, None if it is removed (behaviour §3.2: patch, fallbackContent or content). Several
    changes of one file are applied in order. Raises DoesNotFit for a patch that does not apply and has no
    fallback."""
    contents: dict[str, str | bytes | None] = {}
    for change in file_changes:
        whole = change.content if change.content is not None else change.fallback_content
        try:
            contents[change.path] = (
                whole if change.patch is None else _patched(change.path, change.patch, contents, workspace, folder)
            )
        except DoesNotFit:
            if whole is None:
                raise
            contents[change.path] = whole
    return contents


def _patched(
    path: str, patch: str, contents: Mapping[str, str | bytes | None], workspace: Workspace, folder: Path
) -> bytes | None:
    before = contents[path] if path in contents else workspace.read_file(folder, path)
    return patched(path, before.encode() if isinstance(before, str) else before, patch)


def merge(job: Job, workspaces: Workspaces, command: RecordReply, session: Session) -> RecordReply:
    """The answer, merged with what others have recorded meanwhile; a failure if both changed the same lines."""
    workspace = workspace_of(job, workspaces)
    theirs = session.tree or workspace.base()
    assert command.tree is not None, "only changes can be overtaken"
    try:
        merged = workspace.merge(ours=theirs, theirs=command.tree, message=f"merge {command.turn_id}")
    except HansardError as error:
        failure = Failure.of("crash", sentence_of(error))
        return command.model_copy(
            update={"failure": failure, "tree": None, "patch": None, "files": (), "changes": None}
        )
    return command.model_copy(update={"tree": merged, "base": session.tree, "changes": workspace.changes(merged)})


def text(words: str, blobs: list[Blob]) -> Text:
    """Words for a command; what is too long for it goes to the blobs."""
    value, more = Text.of(words)
    blobs.extend(more)
    return value
