"""The index of what a session has made."""

from pathlib import Path

from domain.values.base import Text
from projections.record import artifacts
from tests.projections.given import Story, caught_up, merged, success


def test_artifacts_are_listed_in_the_order_of_their_making(tmp_path: Path) -> None:
    with caught_up(tmp_path / "v.db", merged(success())).reading() as db:
        found = artifacts.artifacts(db, "delivery-1")
    assert [(row["artifactId"], row["phase"], row["iteration"], row["mediaType"]) for row in found] == [
        ("delivery-1.a1", "planning", 0, "text/markdown"),
        ("delivery-1.a2", "architecture", 0, "text/markdown"),
        ("delivery-1.a3", "design", 0, "text/markdown"),
        ("delivery-1.a4", "implementation", 1, "text/markdown"),
        ("delivery-1.a5", "validation", 1, "application/json"),
        ("delivery-1.a6", "implementation", 2, "text/markdown"),
        ("delivery-1.a7", "validation", 2, "application/json"),
        ("delivery-1.a8", "review", 2, "application/json"),
        ("delivery-1.a9", "implementation", 3, "text/markdown"),
        ("delivery-1.a10", "validation", 3, "application/json"),
        ("delivery-1.a11", "review", 3, "application/json"),
    ]


def test_an_artifact_has_its_words_and_its_patch(tmp_path: Path) -> None:
    with caught_up(tmp_path / "v.db", merged(success())).reading() as db:
        found = artifacts.artifact(db, "delivery-1", "delivery-1.a9")
    assert found == artifacts.Artifact(
        entry={
            "artifactId": "delivery-1.a9",
            "version": 50,
            "phase": "implementation",
            "iteration": 3,
            "createdAt": "2026-11-21T12:00:09.000Z",
            "mediaType": "text/markdown",
            "length": 7,
            "digest": None,
            "patchLength": 12,
            "patchDigest": None,
        },
        content=Text(head="Tested.", length=7),
        patch=Text(head="--- a\n+++ b\n", length=12),
    )


def test_a_long_artifact_is_found_by_its_digest(tmp_path: Path) -> None:
    words = "한" * 10_000
    expected, _ = Text.of(words)
    with caught_up(tmp_path / "v.db", merged(Story().start().answers(words))).reading() as db:
        found = artifacts.artifact(db, "delivery-1", "delivery-1.a1")
    assert found is not None
    assert found.content == expected
    assert (found.entry["length"], found.entry["digest"]) == (30_000, expected.digest)


def test_an_index_ends_at_a_version(tmp_path: Path) -> None:
    with caught_up(tmp_path / "v.db", merged(success())).reading() as db:
        assert [row["artifactId"] for row in artifacts.artifacts(db, "delivery-1", 5)] == ["delivery-1.a1"]
        assert artifacts.artifacts(db, "delivery-1", 4) == []


def test_an_artifact_belongs_to_its_session(tmp_path: Path) -> None:
    with caught_up(tmp_path / "v.db", merged(success(), success("delivery-2"))).reading() as db:
        assert artifacts.artifact(db, "delivery-2", "delivery-1.a1") is None
        assert artifacts.artifact(db, "delivery-1", "delivery-1.a99") is None
