"""What another process learns of an attempt that runs: its figures, while it holds the turn."""

import time
from pathlib import Path

import pytest

from adapters.turns.live import Live
from adapters.turns.usage_notes import UsageNotes
from domain.session.attempt_ends import WorkSoFar
from domain.values.base import Usage

TURN = "delivery-a.t5"
USED = Usage(input_tokens=700, output_tokens=30)


class Log:
    """Who holds the turn."""

    attempt: int | None = 2

    def attempt_of(self, turn_id: str) -> int | None:
        return self.attempt if turn_id == TURN else None


@pytest.fixture
def log() -> Log:
    return Log()


def process(folder: Path, log: Log) -> Live:
    live = Live(lambda: round(time.time() * 1000))
    live.notes = UsageNotes(folder, log.attempt_of)
    return live


def found(live: Live, expected: Usage) -> WorkSoFar:
    """Returns what is noted as soon as it is what is expected."""
    for _ in range(500):
        work = live.so_far(TURN)
        if work is not None and work.usage == expected:
            return work
        time.sleep(0.01)
    pytest.fail(f"noted: {live.so_far(TURN)}")


def test_another_process_finds_what_a_running_attempt_has_reported(tmp_path: Path, log: Log) -> None:
    here, there = process(tmp_path / "used", log), process(tmp_path / "used", log)
    with here.running(TURN, 2) as attempt:
        assert found(there, Usage()).attempt == 2  # it runs, and its program has said nothing yet
        attempt.meter(lambda: USED)
        attempt.transcribe('{"usage": …}')
        assert found(there, USED).attempt == 2
        log.attempt = 3  # the lease was lost to another attempt, whose figures these are not
        assert there.so_far(TURN) is None
        log.attempt = None  # the turn waits or has ended
        assert there.so_far(TURN) is None
        log.attempt = 2
        assert there.so_far(TURN) is not None
    assert there.so_far(TURN) is None
    assert not list((tmp_path / "used").iterdir())


def test_a_note_that_cannot_be_read_or_made_is_none_and_stops_nothing(
    tmp_path: Path, log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "used"
    here, there = process(folder, log), process(folder, log)
    with here.running(TURN, 2):
        found(there, Usage())
        (note,) = folder.iterdir()
        note.write_text("{")
        assert there.so_far(TURN) is None
    broken = tmp_path / "file"
    broken.write_text("")
    with process(broken, log).running(TURN, 2) as attempt:
        attempt.transcribe("a line")
        for _ in range(500):
            if "could not be noted" in caplog.text:
                break
            time.sleep(0.01)
        assert "could not be noted" in caplog.text
        assert process(broken, log).so_far(TURN) is None
