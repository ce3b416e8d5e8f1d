"""What a session has made: an index, and each artifact with the texts that hold it."""

from dataclasses import dataclass
from typing import Any

from domain.delivery.events import ArtifactCreated
from domain.session.record import Recorded
from domain.values.base import Text
from domain.values.time import iso
from projections.engine.ports import Database, Projection, each

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS artifacts (session_id TEXT NOT NULL, artifact_id TEXT NOT NULL,"
    " version BIGINT NOT NULL, phase TEXT, iteration BIGINT NOT NULL, created_at BIGINT NOT NULL,"
    " media_type TEXT NOT NULL, length BIGINT NOT NULL, digest TEXT, patch_length BIGINT, patch_digest TEXT,"
    " content TEXT NOT NULL, patch TEXT, PRIMARY KEY (session_id, artifact_id))",
    "CREATE INDEX IF NOT EXISTS artifacts_in_order ON artifacts (session_id, version)",
)
_ENTRY = "artifact_id, version, phase, iteration, created_at, media_type, length, digest, patch_length, patch_digest"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One artifact. Of a text with a digest the store has the whole."""

    entry: dict[str, Any]
    content: Text
    patch: Text | None


def apply(db: Database, recorded: Recorded) -> None:
    event = recorded.event
    if not isinstance(event, ArtifactCreated):
        return
    patch = event.patch
    db.execute(
        "INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            recorded.session_id,
            event.artifact_id,
            recorded.version,
            event.phase,
            event.iteration,
            recorded.at,
            event.media_type,
            event.content.length,
            event.content.digest,
            patch.length if patch else None,
            patch.digest if patch else None,
            event.content.model_dump_json(),
            patch.model_dump_json() if patch else None,
        ),
    )


ARTIFACTS = Projection(
    name="artifacts", tables=("artifacts",), schema=SCHEMA, apply=each(apply), about=(ArtifactCreated,)
)


def artifacts(db: Database, session_id: str, upto_version: int | None = None) -> list[dict[str, Any]]:
    """The index in the order of making; lengths are UTF-8 bytes of the whole texts."""
    rows = db.execute(
        f"SELECT {_ENTRY} FROM artifacts WHERE session_id = ? AND version <= ? ORDER BY version, artifact_id",
        (session_id, 2**62 if upto_version is None else upto_version),
    ).fetchall()
    return [_entry(row) for row in rows]


def artifact(db: Database, session_id: str, artifact_id: str) -> Artifact | None:
    """One artifact of a session; its content is found through the texts."""
    row = db.execute(
        f"SELECT {_ENTRY}, content, patch FROM artifacts WHERE session_id = ? AND artifact_id = ?",
        (session_id, artifact_id),
    ).fetchone()
    if row is None:
        return None
    *entry, content, patch = row
    return Artifact(
        entry=_entry(entry),
        content=Text.model_validate_json(content),
        patch=None if patch is None else Text.model_validate_json(patch),
    )


def _entry(row: Any) -> dict[str, Any]:
    artifact_id, version, phase, iteration, created_at, media_type, length, digest, patch_length, patch_digest = row
    return {
        "artifactId": artifact_id,
        "version": version,
        "phase": phase,
        "iteration": iteration,
        "createdAt": iso(created_at),
        "mediaType": media_type,
        "length": length,
        "digest": digest,
        "patchLength": patch_length,
        "patchDigest": patch_digest,
    }
