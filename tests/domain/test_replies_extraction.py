"""Finding the answer in a reply (K-29, K-49): thinking, fences, braces of prose, hostile words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import replies
from domain.orchestration.plan import spoken
from domain.replies.extraction import LONGEST_REPLY, parted, without_json, without_thinking
from domain.replies.hints import discussion_hints, review_hints
from domain.values.base import Unreadable

PASS = '{"verdict":"PASS","summary":"fine","issues":[]}'
FIX = '{"verdict":"NEEDS_FIX","summary":"no","issues":[]}'
CUT_OFF = "The review verdict in the reply cannot be read: it is cut off or holds a raw line break."


def problem(kind: str, text: str) -> str:
    with pytest.raises(Unreadable) as unreadable:
        replies.read(kind, text)
    return str(unreadable.value)


@pytest.mark.parametrize(
    "text",
    [
        FIX,
        f"Some words.\n{FIX}\nMore words.",
        f"```json\n{FIX}\n```",
        f"```json {FIX} ```",
        f"~~~\n{FIX}",
        f"{FIX.replace('no', 'draft')}\n{FIX}",
        f"```json\n{FIX}\n```\nOnce more: {FIX}",
        f"function f() {{ return {{}}; }}\n{FIX}",
        f"Use {{ for 5\" pipes. {FIX}",
        f'An unfinished {{"a": "b\n{FIX}',
        f'An unfinished {{"a": {{"b": 1}},\n```\n{FIX}\n```',
        f'{{"a": "{{"}} {FIX}',
        f'{FIX} and {{"note": "}} {{ \\" }}"}}',
        f'{FIX} or {{"verdict": "PASS|NEEDS_FIX"}}',
        f"{FIX} {{'verdict': 'PASS'}} {{",
        f"{FIX} {{verdict: PASS}} }} ]",
        f"<think>{PASS}</think>{FIX}",
        f"{FIX}<THINKING>{PASS}</thinking>",
        f"{FIX} [TOOL_CALL]{PASS}[/TOOL_CALL]",
        f"{FIX}\n<think>never closed {PASS}",
        f"{FIX}\n[TOOL_CALL] never closed {PASS}",
        f"never opened {PASS}</think>{FIX}",
    ],
)  # fmt: skip
def test_the_last_object_that_fits_is_the_answer(text: str) -> None:
    """K-29, K-49; thinking is no answer."""
    review = replies.review(text)
    assert (review.verdict, review.summary) == ("NEEDS_FIX", "no")


VERDICTS = '{"verdicts":[{"agent":"A","pass":true},{"agent":"B","pass":false}]}'
ISSUE = '{"id":"1","title":"t","detail":"d"}'
SUBTASKS = '{"subtasks":[{"agent":"A","task":"t"}]}'


@pytest.mark.parametrize(
    ("kind", "one", "other", "name"),
    [
        ("review", PASS, FIX, "review verdict"),
        ("review", f"```json\n{PASS}\n```\nOn second thoughts:", FIX, "review verdict"),
        ("review", FIX, f"The report ended with: {PASS}", "review verdict"),
        ("review", '{"verdict":"PASS","issues":"x"}', FIX, "review verdict"),
        ("debate", '{"verdict":"APPROVE"}', '{"verdict":"CHALLENGE"}', "debate verdict"),
        ("review_synthesis", FIX, '{"verdict":"PASS"}', "verdict of a review synthesis"),
        ("verdicts", VERDICTS, VERDICTS.replace("false", "true"), "list of verdicts"),
        ("verdicts", VERDICTS, VERDICTS.replace('"B"', '"C"'), "list of verdicts"),
        ("verdicts", VERDICTS, VERDICTS[:-1] + ',"allDone":true}', "list of verdicts"),
        ("review_artifact", f'{{"blockingIssues":[{ISSUE}]}}', '{"blockingIssues":[]}', "review artifact"),
        ("subtasks", SUBTASKS, SUBTASKS.replace('"t"', '"u"'), "list of subtasks"),
        ("direct_answer", SUBTASKS, '{"direct_answer":"done"}', "direct answer"),
    ],
)
def test_two_contradicting_answers_are_not_an_answer(kind: str, one: str, other: str, name: str) -> None:
    """Contract §10: quoted evidence does not turn a verdict; K-29's last object is for those that decide the same."""
    assert problem(kind, f"{one}\n{other}") == (
        f"The reply holds more than one {name}, and they contradict each other."
    )


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("review", '{"verdict":"PASS","summary":"a"}', '{"verdict":" pass ","summary":"b"}'),
        ("verdicts", VERDICTS, '{"verdicts":[{"agent":"b","pass":false},{"agent":"A ","pass":true,"feedback":"b"}]}'),
        ("review_artifact", '{"blockingIssues":[],"score":1}', '{"blockingIssues":[],"score":2}'),
        ("direct_answer", '{"direct_answer":"a"}', '{"direct_answer":"b","subtasks":[]}'),
    ],
)
def test_the_last_of_two_equal_decisions_counts(kind: str, one: str, other: str) -> None:
    assert replies.read(kind, f"{one}\n{other}") == replies.read(kind, other)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The reply holds no review verdict."),
        ("I approve: PASS", "The reply holds no review verdict."),
        (f"<think>{PASS}</think> done", "The reply holds no review verdict."),
        (f"<think>{PASS}", "The reply holds no review verdict."),
        (f"{PASS}</think>", "The reply holds no review verdict."),
        (f'{{"result": {PASS}}}', "The reply holds no review verdict."),
        ('{"verdict":"MAYBE"}', "The reply holds no review verdict."),
        ('{"verdict":"passed"}', "The reply holds no review verdict."),
        ('{"verdict":["PASS"]}', "The reply holds no review verdict."),
        ("[" * 1000 + PASS[:-1], CUT_OFF),
        (f"{PASS} {FIX[:-1]}", CUT_OFF),
        (
            f'{PASS} {{"verdict":"NEEDS_FIX","summary":"a\nb"}}',
            CUT_OFF,
        ),
        (
            f'{PASS} {{"verdict":"NEEDS_FIX","verdict":"PASS"}}',
            'The review verdict in the reply cannot be read: The key "verdict" occurs twice in one object.',
        ),
        (
            f'{PASS} {{"verdict":"NEEDS_FIX","issues":[{{"severity":"huge","description":"d"}}]}}',
            "The review verdict does not fit at /issues/0/severity: should be 'critical', 'major' or 'minor'.",
        ),
        (f"\x00{PASS}", "The reply holds U+0000 or a lone surrogate."),
        (f"\udc00{PASS}", "The reply holds U+0000 or a lone surrogate."),
        ("가" * 1_398_102, "The reply is longer than 4194304 bytes."),
    ],
)  # fmt: skip
def test_a_reply_without_a_readable_answer_is_unreadable(text: str, sentence: str) -> None:
    """An earlier approval never replaces an unreadable last answer (K-36)."""
    assert problem("review", text) == sentence


def test_a_tag_in_a_string_is_a_word() -> None:
    text = '{"verdict":"PASS","summary":"it strips <think> and \\"</think>\\" now"}'
    assert replies.review(text).summary == 'it strips <think> and "</think>" now'


def test_thinking_is_not_part_of_a_reply() -> None:
    assert replies.spoken("a<think>b</think>c [TOOL_CALL]d[/tool_call]e") == "ac e"
    assert replies.spoken("no tags at all {") == "no tags at all {"


@pytest.mark.parametrize(
    "part",
    [
        "{",
        '{"a":',
        '{"a":{}',
        "{}",
        '"',
        "<think>",
        "</think>",
        '{"\\',
        '\n{"',
        "```\n",
        '{"verdict":1}',
        "[TOOL_CALL]",
    ],
)
def test_a_hostile_megabyte_is_only_unreadable(part: str) -> None:
    for kind in ("review", "checklist"):
        assert problem(kind, part * (1_000_000 // len(part)))


def test_only_the_last_of_very_many_objects_are_read() -> None:
    assert problem("review", PASS + '{"a":1}' * 256) == "The reply holds no review verdict."
    assert replies.review(PASS + '{"a":1}' * 255).verdict == "PASS"


_TOKENS = st.sampled_from(
    [
        *(
            PASS,
            FIX,
            '{"blockingIssues":[]}',
            '{"verdicts":[',
            '{"agent":"A","pass":true}',
            '{"subtasks":',
            '"verdict"',
            "- [ ] a: b",
        ),
        *('{}[]"\\,:\n가\x00\ud800'),
        *("```", "<think>", "</think>", "[TOOL_CALL]", "null", "1e999", "NaN", "1. x"),
    ]
)


@given(
    st.lists(_TOKENS).map("".join) | st.text(st.characters(exclude_categories=[])),
    st.sampled_from(sorted(replies.KINDS)),
)
def test_nothing_but_unreadable_is_raised(text: str, kind: str) -> None:
    replies.phases_completed(text), replies.plan_parts(text)
    try:
        replies.changes(text)
        value = replies.read(kind, text)
    except Unreadable as unreadable:
        assert len(str(unreadable)) < 500
    else:
        assert json.dumps(value).isascii()


@given(st.text('{}"\\\n`[]ab:,'), st.sampled_from(["PASS", "NEEDS_FIX"]), st.text('{}"\\\n`<think>[]', max_size=30))
def test_words_before_a_fenced_answer_never_change_it(before: str, verdict: str, summary: str) -> None:
    answer = json.dumps({"verdict": verdict, "summary": summary})
    review = replies.review(f"{before}\n```json\n{answer}\n```")
    assert (review.verdict, review.summary) == (verdict, summary)


@pytest.mark.parametrize(
    "reply", [f"\0{FIX}", f"{FIX}\ud800", "x" * (LONGEST_REPLY + 1)], ids=["NUL", "surrogate", "too-long"]
)
def test_what_no_reader_should_try_has_neither_prose_nor_an_answer(reply: str) -> None:
    assert (without_thinking(reply), without_json(reply)) == ("", "")
    assert parted(reply, "verdict") == (reply, None)
    assert spoken(reply) == reply
    assert (review_hints(reply), discussion_hints(reply)) == (((), ()), ())
