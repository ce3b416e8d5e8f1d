"""The ring of a running turn: frames in order, the oldest go first, nothing is left at the end."""

from adapters.agents.activity import Activity
from adapters.turns.live import FRAMES, Live


def test_frames_are_numbered_and_timed_and_end_with_the_turn() -> None:
    live = Live(lambda: 0)
    with live.turn("t1") as observe:
        observe(Activity(kind="message", text="Hello."))
        observe(Activity(kind="tool", id="c1", tool="execute", title="pytest -q", status="running"))
        first, second = live.frames("t1") or ()
        assert (first.seq, second.seq, first.at) == (1, 2, "1970-01-01T00:00:00.000Z")
        assert second.model_dump(by_alias=True, exclude_none=True)["title"] == "pytest -q"
        assert [frame.seq for frame in live.frames("t1", after=1) or ()] == [2]
    assert live.frames("t1") is None


def test_a_long_turn_keeps_the_latest_frames() -> None:
    live = Live(lambda: 0)
    with live.turn("t1") as observe:
        for number in range(FRAMES + 5):
            observe(Activity(kind="message", text=str(number)))
        kept = live.frames("t1") or ()
    assert (len(kept), kept[0].seq, kept[-1].seq) == (FRAMES, 6, FRAMES + 5)


def test_waiting_returns_what_there_is() -> None:
    live = Live(lambda: 0)
    with live.turn("t1") as observe:
        assert live.wait("t1", after=0, seconds=0.0) == ()
        observe(Activity(kind="notice", text="x"))
        assert len(live.wait("t1", after=0, seconds=0.0) or ()) == 1
    assert live.wait("t1", after=0, seconds=0.0) is None
