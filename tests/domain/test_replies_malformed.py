"""A malformed answer next to a valid one: a rejection is never skipped because its JSON is broken (K-15, K-36)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import replies
from domain.values.base import Unreadable

ISSUE = '{"id":"a","title":"t","detail":"d"}'
NO_ISSUES = '{"blockingIssues": []}'
PASS = '{"verdict":"PASS"}'
FIX = '{"verdict":"NEEDS_FIX"}'
WORKS = '{"verdicts":[{"agent":"A","pass":true}]}'


def problem(kind: str, text: str) -> str:
    with pytest.raises(Unreadable) as unreadable:
        replies.read(kind, text)
    return str(unreadable.value)


BLOCKING = [
    f'```json\n{{"blockingIssues": [{ISSUE},]}}\n```',
    f'```json\n{{\n  // what blocks\n  "blockingIssues": [{ISSUE}]\n}}\n```',
    f'{{"blockingIssues": [ // what blocks\n{ISSUE}]}}',
    f'{{/* what blocks */ "blockingIssues": [{ISSUE}]}}',
    '{"blockingIssues": [{"id":"a","title":"t","detail":"one\ntwo"}]}',
    '{"blockingIssues": [{"id":"a","title":"t","detail":"the "total" is wrong"}]}',
    "{'blockingIssues': [{'id':'a','title':'t','detail':'d'}]}",
    f"{{“blockingIssues”: [{ISSUE}]}}",
    '{blockingIssues: [{id:"a",title:"t",detail:"d"}]}',
    f'{{"score": 5, blockingIssues: [{ISSUE}]}}',
    '{"blockingIssues": [{id:"a",title:"t",detail:"d"}]}',
    f'{{"blockingIssues": [{ISSUE}], "score": NaN}}',
    f'{{"blockingIssues": [{ISSUE}], "score": True}}',
    f'{{"score": 5, "blockingIssues": [{ISSUE} {ISSUE}]}}',
    f'{{"blockingIssues": [{ISSUE}], "blockingIssues": []}}',
    f'{{"blockingIssues": [], "blockingIssues": [{ISSUE},]}}',
    f'{{"blockingIssues": [{ISSUE}\n',
    f'```json\n{{"blockingIssues": [{ISSUE}\n```',
    f'{{"review": {{"blockingIssues": [{ISSUE},]}}}}',
    f'[{{"blockingIssues": [{ISSUE},]}}]',
    '{"blockingIssues", [1]}',
    '{"blockingIssues": [] [1]}',
]  # fmt: skip


@pytest.mark.parametrize("rejection", BLOCKING)
def test_a_malformed_list_of_blocking_issues_is_not_skipped(rejection: str) -> None:
    for reply in (f"{rejection}\nOnce that is fixed I would answer {NO_ISSUES}", f"{NO_ISSUES}\nBut:\n{rejection}"):
        assert problem("review_artifact", reply).startswith("The review artifact in the reply cannot be read: ")


def test_the_problem_says_what_is_malformed() -> None:
    """It goes back to the agent, which is asked once more."""
    reply = f'{{"blockingIssues": [{ISSUE}], "score": NaN}} {NO_ISSUES}'
    assert problem("review_artifact", reply) == (
        "The review artifact in the reply cannot be read: NaN is not a JSON number."
    )


@pytest.mark.parametrize(
    ("kind", "malformed", "valid"),
    [
        ("verdicts", '{"verdicts":[{"agent":"A","pass":false},]}', WORKS),
        ("verdicts", '{"verdicts":[{"agent":"A","pass":false,}]}', WORKS),
        ("verdicts", "{'verdicts':[{'agent':'A','pass':False}]}", WORKS),
        ("review", '{"verdict":"NEEDS_FIX",}', PASS),
        ("review", '{"verdict": NEEDS_FIX}', PASS),
        ("review", "{'verdict': 'NEEDS_FIX'}", PASS),
        ("review", "{verdict: NEEDS_FIX, issues: []}", PASS),
        ("review", '{"verdict":"NEEDS_FIX","summary":"it says "no""}', PASS),
        ("review_synthesis", '{"verdict":"NEEDS_FIX",}', PASS),
        ("debate", '{"verdict":"CHALLENGE",}', '{"verdict":"APPROVE"}'),
        ("debate_synthesis", '{"verdict":"CHALLENGE",}', '{"verdict":"APPROVE"}'),
        ("subtasks", '{"subtasks":[{"agent":"A","task":"t"},]}', '{"subtasks":[{"agent":"A","task":"u"}]}'),
        ("direct_answer", '{"subtasks":[{"agent":"A","task":"t"},]}', '{"direct_answer":"done"}'),
    ],
)
def test_a_malformed_answer_that_may_decide_differently_makes_the_reply_unreadable(
    kind: str, malformed: str, valid: str
) -> None:
    assert "cannot be read: " in problem(kind, f"{malformed}\nThe form is {valid}")
    assert "cannot be read: " in problem(kind, f"{valid}\n{malformed}")


def test_nothing_malformed_next_to_a_rejection_could_make_it_worse() -> None:
    review = replies.review_artifact(f'{{"blockingIssues":[],}} would be wrong: {{"blockingIssues":[{ISSUE}]}}')
    assert [issue.id for issue in review.blocking_issues] == ["a"]


def test_a_malformed_change_is_not_skipped() -> None:
    with pytest.raises(Unreadable):
        replies.changes('{"changes": [{"path": "a", "content": "x"},]}\nNothing else: {"changes": []}')


@pytest.mark.parametrize(
    "harmless",
    [
        'The config `{"a": b,}` has a trailing comma.',
        "It returns {x: 1, 'y': None}.",
        "```js\nconst review = { blockingIssues: issues };\n```",
        "function f() { return blockingIssues; }",
        'The form: {"blockingIssues": [ ... ]}',
        'The form: {"blockingIssues": [...], "nonBlockingIssues": [], "fixPlan": [...]}',
        'The form: {"blockingIssues": [<issue>], "score": <0-100>}',
        '{"blockingIssues": [], "score": high}',
        '{"blockingIssues": [],}',
        '{"summary": "in short, blockingIssues: [none]", "blockingIssues": [],}',
        '"blockingIssues" is empty:',
    ],
)
def test_text_that_blocks_nothing_leaves_an_approval_readable(harmless: str) -> None:
    assert replies.review_artifact(f"{harmless}\n{NO_ISSUES}").blocking_issues == ()


@pytest.mark.parametrize(
    "harmless",
    [
        '{"verdict": "PASS|NEEDS_FIX", "issues": [...]}',
        '{"verdict": "NEEDS_FIX" | "PASS"}',
        '{"verdict": ..., "issues": []} is the form:',
        '{"verdict": <PASS or NEEDS_FIX>}',
        '{"verdict": maybe}',
        '{"verdict":"PASS",}',
        "{'verdict': 'PASS'}",
        "{ verdict: result.verdict }",
        "In short {name: x. So, verdict: fine.",
    ],
)
def test_text_that_rejects_nothing_leaves_a_verdict_readable(harmless: str) -> None:
    assert replies.review(f"{harmless}\n{PASS}").verdict == "PASS"


@pytest.mark.parametrize("approval", ['{"verdict":"PASS",}', "{'verdict': 'PASS'}", '{"verdict": no}'])
def test_a_malformed_approval_does_not_hide_a_rejection_that_follows_it(approval: str) -> None:
    assert replies.review(f"{approval}\n{FIX}").verdict == "NEEDS_FIX"


_BREAKS = st.sampled_from(['"', "'", ",", "{", "}", "[", "]", ":", "\\", "\n", "//", "NaN", "x", "None"])
_REJECTION = json.dumps({"blockingIssues": [{"id": "a", "title": "t", "detail": "d e"}], "score": 5, "fixPlan": ["f"]})
_AFTER_KEY = _REJECTION.index(":") + 1


@given(st.integers(_AFTER_KEY, len(_REJECTION)), _BREAKS, st.sampled_from([" ", "\n", "\n```json\n", "\nOr: "]))
def test_a_rejection_broken_at_any_place_is_never_an_approval(place: int, broken: str, between: str) -> None:
    rejection = _REJECTION[:place] + broken + _REJECTION[place:]
    problem("review_artifact", f"{rejection}{between}{NO_ISSUES}")


@given(st.integers(_AFTER_KEY, len(_REJECTION) - 1), st.integers(1, 3), st.sampled_from([" ", "\n", "\n```json\n"]))
def test_a_rejection_that_lost_characters_is_never_an_approval(place: int, length: int, between: str) -> None:
    rejection = _REJECTION[:place] + _REJECTION[place + length :]
    problem("review_artifact", f"{rejection}{between}{NO_ISSUES}")


@pytest.mark.parametrize("part", ["{a:", "{verdict:", "{//", "{/*", "{#\n", ",\n", '{"verdict":[', "{'a':1,verdict:{"])
def test_a_hostile_megabyte_before_an_approval_is_read_in_linear_time(part: str) -> None:
    """No assertion on time: a quadratic reader would run into the limit of the tests."""
    text = part * (1_000_000 // len(part)) + f"\n```json\n{PASS}\n```"
    try:
        assert replies.review(text).verdict == "PASS"
    except Unreadable as unreadable:
        assert "cannot be read: " in str(unreadable)
