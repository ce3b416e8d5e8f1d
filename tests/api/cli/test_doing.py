"""How the terminal shows the activity of agents."""

from typing import Any

import pytest

from adapters.turns.commands.run import SETUP
from api.cli.activity import RunningTurn, step

TURN: dict[str, Any] = {"turnId": "delivery-1.t1", "agent": "Claude", "requestedAt": "not an instant"}


def tool(**fields: object) -> dict[str, Any]:
    return {"seq": 1, "kind": "tool", **fields}


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (tool(tool="edit", title="/work/src/calc.py", status="completed"), "Edit calc.py"),
        (
            tool(tool="execute", title="pytest -q", status="failed", text="E  x\n==== 1 failed ===="),
            "Run pytest -q → 1 failed",
        ),
        (tool(tool="execute", title="make", status="failed", exitCode=2), "Run make → exit 2"),
        (tool(tool="execute", title="rm -rf /", status="denied"), "Run rm -rf / → denied"),
        ({"seq": 1, "kind": "message", "text": "First.\nThen \x1b[2J this.\n"}, "Then ⟦U+001B⟧[2J this."),
        ({"seq": 1, "kind": "usage", "text": "7"}, ""),
    ],
)
def test_a_step_is_a_few_words(frame: dict[str, Any], words: str) -> None:
    assert step(frame) == words


def test_a_line_shows_the_newest_steps_and_the_time() -> None:
    turn = RunningTurn(TURN)
    turn.take([tool(seq=1, tool="read", title="a.py"), tool(seq=2, tool="edit", title="calc.py")])
    turn.take([tool(seq=3, id="c1", tool="execute", title="pytest", status="running")])
    assert turn.words() == "Claude: Edit calc.py · Run pytest · 0:00"
    assert turn.news == []
    turn.take([tool(seq=4, id="c1", status="failed", text="1 failed")])
    assert (turn.words(), turn.news) == (
        "Claude: Edit calc.py · Run pytest → 1 failed · 0:00",
        [("Claude", "Run pytest → 1 failed")],
    )


def test_a_line_that_a_command_prints_in_pieces_is_one_line_of_news() -> None:
    turn = RunningTurn(TURN)
    news = []
    for seq, text in enumerate(("$ pytest", "....", "... [ 50%]", "\n...", ".. [100%]\n7 passed\n", "done"), start=1):
        turn.take([{"seq": seq, "kind": "notice", "text": text}])
        news += [words for _, words in turn.news]
    assert news == ["$ pytest", "....... [ 50%]", "7 passed"]
    assert turn.words() == "Claude: 7 passed · done · 0:00"


def test_colours_of_a_command_are_left_out() -> None:
    turn = RunningTurn(TURN)
    turn.take([{"seq": 1, "kind": "notice", "text": "\x1b[32m.\x1b[0m\x1b[38:5:9m7 passed\x1b[0m\x1b[K\n"}])
    assert turn.news == [("Claude", ".7 passed")]
    assert turn.words() == "Claude: .7 passed · 0:00"


@pytest.mark.parametrize(("agent", "work", "of"), [("setup", "prepare", "baseline"), ("test", "validate", "test")])
def test_lines_of_commands_say_whether_they_are_of_the_set_up_or_have_to_pass(agent: str, work: str, of: str) -> None:
    """Also of the set-up of the fresh checkout, in the middle of a validation."""
    turn = RunningTurn(TURN | {"agent": agent, "work": work})
    said = ("$ make test", "1 passed\n", "$ npm ci", "added 3\n", "$ make test", "1 passed\n")
    said = (*said[:3], "━━━━━━━━ 140.0/140.0 kB 106.7 MB/s\n", *said[3:])  # a download's bar is no news
    titles = {"$ npm ci": {"title": SETUP}}
    turn.take(
        [{"seq": seq, "kind": "notice", "text": text, **titles.get(text, {})} for seq, text in enumerate(said, start=1)]
    )
    assert [f"{of}: {words}" for of, words in turn.news] == [
        f"{of}: $ make test",
        f"{of}: 1 passed",
        "set-up: $ npm ci",
        "set-up: added 3",
        f"{of}: $ make test",
        f"{of}: 1 passed",
    ]
