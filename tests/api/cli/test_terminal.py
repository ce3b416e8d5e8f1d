"""Agent output cannot control the terminal, and scripts can read all data."""

import io
import json

import pytest

from api.cli import tables, terminal


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain 한글 ✓", "plain 한글 ✓"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("dos\r\nlines", "dos\nlines"),
        ("over\rwritten", "over⟦U+000D⟧written"),
        ("\x1b[31mred", "⟦U+001B⟧[31mred"),
        ("\x1b]0;title\x07", "⟦U+001B⟧]0;title⟦U+0007⟧"),
        ("\x9b31m", "⟦U+009B⟧31m"),
        ("\x7f\x08", "⟦U+007F⟧⟦U+0008⟧"),
        ("file\u202etxt.exe", "file⟦U+202E⟧txt.exe"),
        ("\u2066a\u2069", "⟦U+2066⟧a⟦U+2069⟧"),
        ("in\u200bvisible\ufeff", "in⟦U+200B⟧visible⟦U+FEFF⟧"),
        ("\U000e0041tag", "⟦U+E0041⟧tag"),
        ("\ud800", "⟦U+D800⟧"),
    ],
)
def test_control_and_invisible_characters_are_spelled_out(written: str, shown: str) -> None:
    assert terminal.visible(written) == shown


def test_one_line_stays_one() -> None:
    assert terminal.one_line("a\n\n  b\tc\x1b") == "a b c⟦U+001B⟧"


def test_json_escapes_control_characters_without_changing_the_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = {"words": "한글 \x1b[2J \x9b \u202e \U000e0041"}
    terminal.put_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert out == '{\n  "words": "한글 \\u001b[2J \\u009b \\u202e \\udb40\\udc41"\n}\n'


def test_a_document_is_left_as_it_is_in_a_pipe_and_made_visible_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    for is_terminal in (False, True):
        stream = _Stream(is_terminal=is_terminal)
        monkeypatch.setattr("sys.stdout", stream)
        terminal.put_document("# a\x1b[2J\n")
        shown.append(stream.getvalue())
    assert shown == ["# a\x1b[2J\n", "# a⟦U+001B⟧[2J\n"]


@pytest.mark.parametrize(
    ("is_terminal", "environment", "painted"),
    [
        (True, {}, "\x1b[32mok\x1b[0m"),
        (True, {"NO_COLOR": "1"}, "ok"),
        (True, {"NO_COLOR": ""}, "\x1b[32mok\x1b[0m"),
        (True, {"TERM": "dumb"}, "ok"),
        (False, {}, "ok"),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool, environment: dict[str, str], painted: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert terminal.paint("ok", "green", _Stream(is_terminal=is_terminal)) == painted


def test_columns_line_up_under_wide_letters(capsys: pytest.CaptureFixture[str]) -> None:
    tables.put_table(("ID", "STATUS", "TITLE"), [("가나", "success", "x"), ("abcde", "failed", "한 줄\n더")])
    assert capsys.readouterr().out.splitlines() == [
        "ID     STATUS   TITLE",
        "가나   success  x",
        "abcde  failed   한 줄 더",
    ]


def test_pairs_omit_empty_values_and_indent_long_ones(capsys: pytest.CaptureFixture[str]) -> None:
    tables.put_pairs([("task", "one\ntwo"), ("error", ""), ("status", "failed")])
    assert capsys.readouterr().out == "task    one\n        two\nstatus  failed\n"


def test_pairs_are_wrapped_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    pairs = [("summary", "Success on iteration 3. Validated by pytest -q."), ("branch", f"hansard/{'x' * 40}")]
    tables.put_pairs(pairs)
    assert capsys.readouterr().out.splitlines()[0] == f"summary  {pairs[0][1]}"
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    tables.put_pairs(pairs)
    assert capsys.readouterr().out.splitlines() == [
        "summary  Success on iteration 3.",
        "         Validated by pytest -q.",
        f"branch   hansard/{'x' * 40}",
    ]


def test_a_terminal_too_narrow_for_columns_shows_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    tables.put_table(("SESSION", "STATUS", "UPDATED", "TITLE"), [("delivery-1", "failed", "2026-11-24", "가" * 30)])
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["delivery-1  failed", "  2026-11-24", f"  {'가' * 18}…"]


def test_figures_have_their_names_where_there_is_no_room_for_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    names = ("KIND", "STATUS", "SESSIONS", "TOOK", "COST", "AGENT", "UNKNOWN", "PASS RATE")
    tables.put_table(names, [("delivery", "failed", "12", "0:01", "$0.0045", "Ada", "-", "50%")])
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["delivery  failed", "  Ada", "  sessions 12 · took 0:01 · cost $0.0045", "  pass rate 50%"]


def test_a_korean_terminal_reads_korean_labels_and_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    tables.put_table(("SESSION", "STATUS"), [("delivery-1", "success")])
    tables.put_pairs([("can now", "x"), ("status", "y")])
    assert capsys.readouterr().out.splitlines() == [
        "세션        상태",
        "delivery-1  성공",
        "가능한 작업  x",
        "상태         y",
    ]


@pytest.mark.parametrize(("ms", "spelt"), [(0, "0:00"), (59_999, "0:59"), (61_000, "1:01"), (-5, "0:00")])
def test_durations_read_as_minutes(ms: int, spelt: str) -> None:
    assert terminal.minutes(ms) == spelt


@pytest.mark.parametrize("words", ["no instant", "", "None"])
def test_invalid_timestamp_is_shown_unchanged(words: str) -> None:
    assert terminal.local_time(words) == words


class _Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("src/app.py", "src/app.py"),
        ("app/(group)/[id]/page.tsx", "app/(group)/[id]/page.tsx"),
        ("with space.py", "with space.py"),
        ("a.py (added) [validation]", '"a.py (added) [validation]"'),
        ("a.py, b.py", '"a.py, b.py"'),
        ('"a.py"', '"\\"a.py\\""'),
        (" a.py", '" a.py"'),
        ("a.py  (not named)", '"a.py  (not named)"'),
        ("a\u202egnp.py", "a⟦U+202E⟧gnp.py"),
    ],
)
def test_a_name_that_could_be_taken_for_more_is_in_quotes(name: str, shown: str) -> None:
    assert terminal.visible_name(name) == shown
