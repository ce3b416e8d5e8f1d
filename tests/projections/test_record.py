"""One record of a session: grown event by event or folded at once, bounded in memory, read as of any version."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from domain.session.record import Recorded
from domain.session.redaction import RedactText
from projections.record.records import Record, Records, record_of
from projections.record.turns import Section
from tests.projections.given import Story, Twin, merged, success
from tests.projections.walks import wander

RECORD = TypeAdapter(Record)


def bytes_of(record: Record) -> bytes:
    return RECORD.dump_json(record)


def histories(folder: Path, seed: int) -> list[Sequence[Recorded]]:
    stage = wander(folder, seed)
    result = [stage.store.history(name) for name in stage.store.rows.streams()]
    stage.store.close()
    return result


def test_a_record_that_grew_is_the_record_from_zero_byte_for_byte(tmp_path: Path) -> None:
    for history in histories(tmp_path, 3):
        grown = Record()
        for recorded in history:
            grown.add(recorded)
            if recorded.version % 32 == 0:
                assert bytes_of(grown) == bytes_of(record_of(history[: recorded.version]))
        assert RECORD.validate_json(bytes_of(grown)) == grown


def test_a_history_is_folded_once_and_then_only_what_is_new() -> None:
    log, story = merged(success()), success()
    records = Records(log)
    assert records.of("delivery-1", 10).version == 10
    reads = log.reads
    assert records.of("delivery-1", 10) is records.of("delivery-1", 7)
    assert log.reads == reads
    assert bytes_of(records.of("delivery-1", 66)) == bytes_of(record_of(story.events))


def test_a_record_of_which_a_text_is_redacted_is_folded_from_the_beginning() -> None:
    """What was folded before may quote the text."""
    story = Story().start().answers("A plan.")
    log = merged(story)
    records = Records(log)
    before = records.of("delivery-1", story.delivery.version)
    story.do(RedactText(digest="0" * 64, reason="a key"))
    log.add(story.events[-1:])
    after = records.of("delivery-1", story.delivery.version)
    assert after is not before
    assert bytes_of(after) == bytes_of(record_of(story.events))


def test_only_so_many_records_and_events_are_kept() -> None:
    log = merged(success("delivery-1"), success("delivery-2"), success("delivery-3"))
    few, short = Records(log, sessions=2), Records(log, events=100)
    for records in (few, short):
        first = records.of("delivery-1", 66)
        records.of("delivery-2", 66)
        records.of("delivery-3", 66)
        assert records.of("delivery-1", 66) is not first


def test_a_turn_has_its_prompt_in_sections_and_its_outcome() -> None:
    story = Story().start().answers("A plan.", model="m-1", patch="+1").fails("timeout", "nothing came")
    turns = record_of(story.events).turns
    planning, architecture = turns["delivery-1.t1"], turns["delivery-1.t2"]
    assert (planning.agent, planning.phase, planning.number) == ("planner", "planning", 0)
    assert all(section.version == planning.version for section in planning.prompt)
    assert "task" in {section.name for section in planning.prompt}
    [answer] = planning.attempts
    assert (answer.number, answer.outcome, answer.model) == (1, "answered", "m-1")
    assert answer.reply == Section(version=4, name="reply", length=7, digest=None)
    assert answer.patch == Section(version=4, name="patch", length=2, digest=None)
    [failure] = architecture.attempts
    assert (failure.outcome, failure.failure, failure.detail) == ("failed", "timeout", "nothing came")
    assert [planning.status(version) for version in (3, 4)] == ["requested", "answered"]


def test_an_unknown_session_has_an_empty_record() -> None:
    assert Records(Twin()).of("delivery-1", 0).entries == []
