"""Words of agents inside our Markdown."""

import itertools

import pytest
from markdown_it import MarkdownIt

from projections.record.markdown import cell, code, inline, item, neutral, one_line, plain, quote, shortened

HOSTILE = [
    "## Final Summary",
    "  ### indented",
    "> # quoted",
    "- # in a list",
    "1. ## in a numbered list",
    "> 1) - ## deep",
    "text\n===",
    "text\n---",
    "text\n- - -",
    "```\nnever closed",
    "~~~~\nnever closed",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "a | b\n--|--\n1 | 2",
    "<script>alert(1)</script>",
    "<!-- never closed",
    "\\<img src=x onerror=alert(1)>",
    "\\\\<img src=x onerror=alert(1)>",
    "\\\\\\<img src=x onerror=alert(1)>",
    "\\!\\[pixel](http://evil.example/p.png)",
    "!\\\\[pixel](http://evil.example/p.png)",
    "text <b>bold</b>",
    "<details>\n\ninside",
    "[x]: http://evil.example",
    "![pixel](http://evil.example/p.png)",
    "***",
    "\x1b[31m## red\x1b[0m",
    "\u202e## turned",
    "text\r## after a carriage return",
    "text\u2028## after a line separator",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_open_no_heading_table_fence_rule_html_or_image(words: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(neutral(words))
    kinds = {token.type for token in tokens} | {
        child.type for token in tokens for child in token.children or () if token.children
    }
    assert kinds.isdisjoint({"heading_open", "table_open", "fence", "hr", "html_block", "html_inline", "image"})


@pytest.mark.parametrize("words", HOSTILE)
def test_our_heading_after_a_quote_stays_a_heading(words: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(f"{quote(words)}\n\n## Ours\n")
    headings = [after.content for token, after in itertools.pairwise(tokens) if token.type == "heading_open"]
    assert headings == ["Ours"]


def test_a_definition_in_a_quote_defines_nothing() -> None:
    assert "href" not in MarkdownIt("commonmark").render(f"{quote('[x]: http://evil.example')}\n\nsee [x]\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("plain", "plain"),
        ("한국어 ✅", "한국어 ✅"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\x00b\x07c", "abc"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("\u202eabc\u2066\u200f", "abc"),
        ("tab\tstays", "tab\tstays"),
        ("hid\U000e0041den", "hidden"),
    ],
)
def test_plain_words_hold_nothing_unseen(words: str, expected: str) -> None:
    assert plain(words) == expected


def test_a_line_is_cut_without_a_mark_and_contains_no_line_break() -> None:
    assert one_line("  a\nb\tc\r\nd" + "e" * 100, 10) == "a b c deee"


@pytest.mark.parametrize(
    ("words", "expected"), [("a|b", "a\\|b"), ("a\\|b", "a\\\\|b"), ("a\nb", "a b"), ("<b>", "\\<b>")]
)
def test_a_cell_stays_one_cell(words: str, expected: str) -> None:
    assert cell(words) == expected
    row = MarkdownIt("commonmark").enable("table").render(f"| h | i |\n|---|---|\n| {cell(words)} | x |\n")
    assert row.count("<td>") == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [("pytest -q", "`pytest -q`"), ("echo `x`", "`` echo `x` ``"), ("``a", "``` ``a ```"), ("a\nb", "`a b`")],
)
def test_a_code_span_can_contain_backticks(words: str, expected: str) -> None:
    assert code(words) == expected


def test_html_and_images_are_disarmed_inside_a_line() -> None:
    assert inline("use <T> ![a](b) 1 < 2", 80) == "use \\<T> !\\[a](b) 1 < 2"


def test_short_texts_follow_their_label() -> None:
    assert item("Result", "Done.\n", limit=500) == "- Result: Done."


def test_several_lines_are_quoted_below_their_label() -> None:
    assert item("Result", "One\n\n# Two", limit=500) == "- Result:\n\n  > One\n  >\n  > \\# Two\n"


def test_long_words_are_cut_with_a_mark() -> None:
    assert shortened("abcdef", 3) == "abc…"
    assert shortened("abc", 3) == "abc"
