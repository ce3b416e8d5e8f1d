"""The index of what a session has made."""

from domain.values.base import Text
from projections.record import artifacts
from projections.record.records import record_of
from tests.projections.given import Story, merged, success


def made(story: Story) -> list[artifacts.Artifact]:
    return record_of(story.events).artifacts


def test_artifacts_are_listed_in_the_order_of_their_making() -> None:
    assert [(result.artifact_id, result.phase, result.iteration, result.media_type) for result in made(success())] == [
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


def test_an_artifact_has_its_words_and_its_patch() -> None:
    story = success()
    result = made(story)[8]
    assert result.view().wire() == {
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
    }
    assert artifacts.texts(merged(story), "delivery-1", result) == (
        Text(head="Tested.", length=7),
        Text(head="--- a\n+++ b\n", length=12),
    )


def test_a_long_artifact_is_found_by_its_digest() -> None:
    words = "한" * 10_000
    expected, _ = Text.of(words)
    story = Story().start().answers(words)
    [result] = made(story)
    assert (result.length, result.digest) == (30_000, expected.digest)
    assert artifacts.texts(merged(story), "delivery-1", result) == (expected, None)


def test_an_index_ends_at_a_version() -> None:
    result = made(success())
    assert [artifact.artifact_id for artifact in artifacts.upto(result, 5)] == ["delivery-1.a1"]
    assert artifacts.upto(result, 4) == []
