"""The index of a session's artifacts. Their texts stay in their events and are read from there."""

from bisect import bisect_right
from typing import NamedTuple

from domain.delivery.events import ArtifactCreated
from domain.session.record import Recorded
from domain.values.base import Text, iso
from projections.engine.ports import Histories
from projections.views.record import ArtifactItem


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
