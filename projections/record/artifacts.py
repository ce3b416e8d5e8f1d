"""What a session has made: the index of its artifacts, and what it has changed, as its view reports it.

The texts of artifacts stay in their events and are read from there.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Collection
from typing import Literal, NamedTuple

from domain.delivery.events import ArtifactCreated
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.workspace import EVERYTHING, PathScope, is_test, touched
from domain.values.base import Text, iso
from domain.values.sentences import coded
from projections.engine.ports import Histories
from projections.views.record import ArtifactItem
from projections.views.session import LandedView, ResultBase, ResultFile, ResultView, ReviewedView


class Artifact(NamedTuple):
    """One artifact. Lengths are UTF-8 bytes of the whole text; if there is a digest, the store has the whole text."""

    version: int
    artifact_id: str
    phase: str | None
    iteration: int
    created_at: int
    media_type: str
    length: int
    digest: str | None
    patch_length: int | None
    patch_digest: str | None

    def view(self) -> ArtifactItem:
        return ArtifactItem(**self._asdict() | {"created_at": iso(self.created_at)})


def artifact_of(recorded: Recorded) -> Artifact | None:
    """The artifact that an event made, if any."""
    event = recorded.event
    if not isinstance(event, ArtifactCreated):
        return None
    content, patch = event.content, event.patch
    return Artifact(
        version=recorded.version,
        artifact_id=event.artifact_id,
        phase=event.phase,
        iteration=event.iteration,
        created_at=recorded.at,
        media_type=event.media_type,
        length=content.length,
        digest=content.digest,
        patch_length=patch.length if patch else None,
        patch_digest=patch.digest if patch else None,
    )


def upto(made: list[Artifact], version: int) -> list[Artifact]:
    """The artifacts at a version, in the order of creation."""
    return made[: bisect_right(made, version, key=lambda artifact: artifact.version)]


def texts(log: Histories, session_id: str, artifact: Artifact) -> tuple[Text, Text | None]:
    """The artifact itself, and the changes in the workspace that belong to it."""
    [recorded] = log.history(session_id, after=artifact.version - 1, upto=artifact.version)
    assert isinstance(recorded.event, ArtifactCreated), "the record was made from this event"
    return recorded.event.content, recorded.event.patch


# -- the result --------------------------------------------------------------------------------------------------------


def result_of(session: Session, planned: Collection[str], scope: PathScope = EVERYTHING) -> ResultView | None:
    """None as long as nothing has changed. `planned` are the files and folders that the request or the plan named,
    relative to the workspace."""
    base, changes = session.base, session.changes
    if base is None or changes is None or not changes.files:
        return None
    reviewed = session.reviewed
    deciding = frozenset(reviewed.deciding if reviewed else ())
    folder = _below(session.workspace, base.repository)
    names = tuple(posixpath.normpath(posixpath.join(folder, path)) for path in planned)
    return ResultView(
        repository=base.repository,
        base=ResultBase(branch=base.base_branch, commit=base.base_commit),
        branch=session.branch,
        branch_problem=session.branch_problem and str(session.branch_problem),
        branch_problem_sentence=coded(session.branch_problem),
        head=changes.head,
        commits=changes.commits,
        files=tuple(
            ResultFile(**dict(file), named=_is_named(file.path, names), decides=_decides(file.path, deciding))
            for file in changes.files
        ),
        reviewed=ReviewedView(shown=reviewed.shown, of=reviewed.of) if reviewed else None,
        landed=LandedView(branch=session.landed.onto, commit=session.landed.commit) if session.landed else None,
        outside=scope.outside_of(touched(changes)),
    )


def _decides(path: str, deciding: Collection[str]) -> Literal["settings", "test"] | None:
    if path not in deciding:
        return None
    return "test" if is_test(path) else "settings"


def _below(workspace: str | None, repository: str | None) -> str:
    """Where the workspace is in its repository; empty for the root."""
    if not workspace or not repository or not workspace.startswith(f"{repository}/"):
        return ""
    return workspace.removeprefix(f"{repository}/")


def _is_named(path: str, names: Collection[str]) -> bool:
    """Whether the file itself was named, or a folder above it."""
    return any(path == name or name == "." or path.startswith(f"{name}/") for name in names)
