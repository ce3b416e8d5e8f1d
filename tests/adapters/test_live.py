"""What is gathered of a running turn: frames in order, the oldest go first; tools and transcript within bounds."""

import asyncio

from adapters.agents.activity import Activity
from adapters.agents.attempt import CUT, Doing
from adapters.turns.live import FRAMES, TURNS, Live


def said(text: str) -> Activity:
    return Activity(kind="message", text=text)


def test_frames_are_numbered_and_timed() -> None:
    live = Live(lambda: 0)
    attempt = live.attempt("t1")
    attempt.observe(said("Hello."))
    attempt.observe(Activity(kind="tool", id="c1", tool="execute", title="pytest -q", status="running"))
    first, second = live.frames("t1")
    assert (first.seq, second.seq, first.at) == (1, 2, "1970-01-01T00:00:00.000Z")
    assert second.model_dump(by_alias=True, exclude_none=True)["title"] == "pytest -q"
    assert [frame.seq for frame in live.frames("t1", after=1)] == [2]
    assert live.frames("t2") == ()


def test_the_next_attempt_continues_the_numbering() -> None:
    live = Live(lambda: 0)
    live.attempt("t1").observe(said("first"))
    live.attempt("t1").observe(said("second"))
    assert [(frame.seq, frame.text) for frame in live.frames("t1")] == [(1, "first"), (2, "second")]


def test_frames_of_a_session_are_forgotten_and_later_ones_continue_the_numbering() -> None:
    live = Live(lambda: 0)
    attempt, other = live.attempt("delivery-1.t1"), live.attempt("delivery-12.t1")
    attempt.observe(said("a key"))
    other.observe(said("harmless"))
    live.forget("delivery-1")
    assert live.frames("delivery-1.t1") == ()
    assert [frame.text for frame in live.frames("delivery-12.t1")] == ["harmless"]
    attempt.observe(said("second"))
    assert [(frame.seq, frame.text) for frame in live.frames("delivery-1.t1")] == [(2, "second")]


def test_a_long_turn_keeps_the_latest_frames() -> None:
    live = Live(lambda: 0)
    attempt = live.attempt("t1")
    for number in range(FRAMES + 5):
        attempt.observe(said(str(number)))
    kept = live.frames("t1")
    assert (len(kept), kept[0].seq, kept[-1].seq) == (FRAMES, 6, FRAMES + 5)


def test_a_running_turn_keeps_its_frames_however_many_others_begin() -> None:
    live = Live(lambda: 7)
    with live.running("long", 1) as attempt:
        attempt.observe(said("still here"))
        live.attempt("oldest").observe(said("over"))
        for number in range(TURNS):
            with live.running(f"t{number}", 1) as other:
                other.observe(said("short"))
        attempt.observe(said("and on"))
        assert ([frame.text for frame in live.frames("long")], live.since("long")) == (["still here", "and on"], 7)
    assert (live.frames("oldest"), live.since("oldest")) == ((), None)
    for number in range(TURNS):
        live.attempt(f"later{number}")
    assert live.frames("long") == ()


def test_a_listener_is_woken_by_a_frame() -> None:
    live = Live(lambda: 0)

    async def heard() -> bool:
        with live.listening("t1") as bell:
            live.attempt("t1").observe(said("x"))
            await asyncio.wait_for(bell.rung.wait(), timeout=5)
        return bell.rung.is_set()

    assert asyncio.run(heard())


def test_a_listener_only_checks_for_the_end_of_a_turn_when_it_is_likely() -> None:
    live = Live(lambda: 0)

    async def asked() -> list[bool]:
        result = []
        with live.listening("t1") as bell:
            result.append(bell.hush())
            live.attempt("t1").observe(said("x"))
            result.append(bell.hush())
            live.wake("t1", over=True)
            live.wake("t1")
            result += [bell.hush(), bell.hush()]
        return result

    assert asyncio.run(asked()) == [True, False, True, False]


def tool(call: str | None, status: str, **more: object) -> Activity:
    return Activity.model_validate({"kind": "tool", "id": call, "status": status, **more})


def test_a_call_is_one_tool_with_its_time_and_exit_code() -> None:
    times = iter((1_000, 1_250))
    doing = Doing(lambda: next(times))
    doing.see(tool("c1", "running", tool="execute", title="pytest -q"))
    doing.see(tool("c1", "failed", exitCode=1))
    doing.see(tool(None, "denied", tool="execute", title="rm -rf /"))
    activity = doing.activity()
    assert activity is not None
    first, second = activity[0].tools
    assert (first.title, first.exit_code, first.milliseconds) == ("pytest -q", 1, 250)
    assert (second.denied, activity[0].tools_total, activity[0].denied) == (True, 2, 1)


def test_the_first_and_the_last_hundred_tools_are_kept() -> None:
    doing = Doing(lambda: 0)
    for number in range(250):
        doing.see(tool(None, "completed", title=str(number)))
    activity = doing.activity()
    assert activity is not None
    kept = [use.title for use in activity[0].tools]
    assert (activity[0].tools_total, len(kept), kept[99], kept[100]) == (250, 200, "99", "150")


def test_a_transcript_ends_at_its_limit_with_a_mark() -> None:
    doing, line = Doing(lambda: 0), "x" * (1024 * 1024 - 1)
    for _ in range(70):
        doing.hear(line)
    activity = doing.activity()
    assert activity is not None
    [blob] = activity[1]
    lines = blob.content.split("\n")
    assert (len(lines), lines[-1]) == (65, CUT)


def test_nothing_is_recorded_of_a_silent_attempt() -> None:
    doing = Doing(lambda: 0)
    doing.see(said("words are no tool"))
    assert doing.activity() is None


def test_a_call_that_is_named_again_at_the_end_counts_once() -> None:
    doing = Doing(lambda: 0)
    call = Activity(kind="tool", id="c1", tool="execute", title="rm -rf build", status="running")
    for seen in (call, call.changed(status="denied"), call.changed(status="denied")):
        doing.see(seen)
    activity = doing.activity()
    assert activity is not None and (activity[0].tools_total, activity[0].denied) == (1, 1)
