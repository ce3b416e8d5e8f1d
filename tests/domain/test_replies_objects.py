"""Objects among the braces and quotes of prose: what is found, and what it costs to find it (K-29, K-49)."""

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import replies
from domain.values import json_pieces as objects
from domain.values.base import Unreadable

PASS = '{"verdict":"PASS"}'
FIX = '{"verdict":"NEEDS_FIX"}'


@pytest.mark.parametrize(
    "prose",
    [
        'Line 4 must print "{" and not "(" here.',
        'The output starts with "{" as required.',
        '"{"',
        '"{" , "{" ,',
        'Between "{" and ":" and "}" it',
        'It looks for "{", then ":" after "verdict".',
        'It prints {"a": b',
        '5" of {"',
        '{"verdict": ..., "issues": []} is the form:',
        'He said \\"{\\" or {"\\',
    ],
)
def test_braces_in_prose_do_not_hide_the_verdict_on_their_line(prose: str) -> None:
    assert replies.review(f"{prose} {FIX}").verdict == "NEEDS_FIX"
    judged = '{"verdicts":[{"agent":"A","pass":true}]}'
    assert [result.agent for result in replies.verdicts(f'{prose} {judged} and "}}" {{').verdicts] == ["A"]


def test_a_name_in_prose_is_not_the_start_of_an_answer() -> None:
    assert replies.review(f'It writes "{{" before "verdict": {FIX} and "}}" after it.').verdict == "NEEDS_FIX"


@pytest.mark.parametrize(
    "refusal",
    [
        '{"verdict":"NEEDS_FIX","issues":"x"}',
        '{"verdict":"NEEDS_FIX",}',
        '{"summary":"he said "no"","verdict":"NEEDS_FIX"}',
        '{\n "summary": "a 5" pipe",\n "verdict": "NEEDS_FIX"\n}',
        '{"summary":"one\ntwo","verdict":"NEEDS_FIX"}',
        '{"verdict"',
        '{"verdict", "NEEDS_FIX"}',
        '{"summary":"s","verdict"',
        f'{{"verdict":"NEEDS_FIX","summary":"it prints {PASS} always"}}',
        f'{{"verdict":"NEEDS_FIX","summary":"it prints {PASS} on 5" pipes"}}',
        f'{{"summary":"it prints {PASS} always","verdict":"NEEDS_FIX"}}',
        f'{{"verdict":"NEEDS_FIX","draft":{PASS}',
        f'Print "{{" and {{"summary": no, "draft":{PASS}, "verdict":"NEEDS_FIX"}}',
    ],
)
def test_a_malformed_refusal_is_not_replaced_by_an_approval_before_or_inside_it(refusal: str) -> None:
    """K-15, K-36: the last words that try to be an answer are the answer."""
    with pytest.raises(Unreadable):
        replies.review(f"{PASS} {refusal}")


def test_a_wrong_answer_before_a_valid_last_one_is_ignored() -> None:
    """K-29: the last decides; what is no JSON before it is prose."""
    assert replies.review(f'{{"verdict":"NEEDS_FIX","issues":"x"}} {{"verdict": no}} {FIX}').verdict == "NEEDS_FIX"


def test_an_object_within_an_object_or_within_its_string_is_not_the_answer() -> None:
    for words in (f'{{"result":{PASS}}}', json.dumps({"result": PASS})):
        with pytest.raises(Unreadable, match="holds no review verdict"):
            replies.review(words)


def test_prose_is_the_text_around_the_objects() -> None:
    assert replies.without_json(f'It prints "{{" and not "(" here. {PASS} Done.') == (
        'It prints "{" and not "(" here.  Done.'
    )
    assert replies.without_json(f'Before {{"a": b, "c": {PASS}}} after.') == "Before  after."


QUOTED = st.sampled_from(
    ["{", "}", '"', '"{"', '"}"', "'{'", "{}", '{"', '"{', "[", ",", "5", "\\", "word ", " ", "\t"]
)
LINE = st.lists(QUOTED, max_size=30).map("".join)
SUMMARIES = st.text('{}[]"\\,: ab\n가', max_size=30)


@given(LINE, LINE, SUMMARIES, st.sampled_from(["PASS", "NEEDS_FIX"]))
@settings(max_examples=100)
def test_an_object_is_found_with_any_braces_and_quotes_on_its_line(
    before: str, after: str, summary: str, verdict: str
) -> None:
    answer = json.dumps({"summary": summary, "verdict": verdict})
    review = replies.review(f"{before} {answer} {after}")
    assert (review.verdict, review.summary) == (verdict, summary)


@given(st.lists(QUOTED | st.sampled_from([":", '{"a":', '"a":']), max_size=30).map("".join), SUMMARIES)
@settings(max_examples=100)
def test_an_object_is_found_after_unfinished_objects_on_its_line(before: str, summary: str) -> None:
    """Colons, too: what begins like an object bears no key of the answer."""
    answer = json.dumps({"verdict": "PASS", "summary": summary})
    assert replies.review(f"{before} {answer}").summary == summary


# -- what it costs -------------------------------------------------------------------------------------------------


class Counted:
    """A pattern that counts how often it is asked, and over how many characters its answers reach."""

    steps = 0

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern

    def _count(self, found: re.Match[str] | None, at: int, stop: int) -> re.Match[str] | None:
        Counted.steps += 1 + (found.end() if found else stop) - at
        return found

    def search(self, words: str, at: int, stop: int) -> re.Match[str] | None:
        return self._count(self.pattern.search(words, at, stop), at, stop)

    def match(self, words: str, at: int, stop: int) -> re.Match[str] | None:
        result = self.pattern.match(words, at, stop)
        return self._count(result, at, stop if result else at)

    def finditer(self, words: str, at: int = 0, stop: int | None = None) -> Iterator[re.Match[str]]:
        for result in self.pattern.finditer(words, at, len(words) if stop is None else stop):
            Counted.steps += 1 + result.end() - at
            at = result.end()
            yield result


@pytest.fixture(scope="module")
def counting() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_FENCE", "_BRACE", "_BEGUN", "_STRING_OR_BRACE"):
            patch.setattr(objects, name, Counted(getattr(objects, name)))
        patch.setattr(objects, "_TOKENS", {state: Counted(each) for state, each in objects._TOKENS.items()})
        yield


def steps(words: str) -> int:
    Counted.steps = 0
    objects.pieces(words)
    return Counted.steps


PARTS = [
    "{",
    '{"',
    '{"a":',
    '{"a":{',
    '{"a":[',
    '{"a":"{",":1,"',
    '":1,',
    '{"\\"',
    '{"\\\\"',
    '"',
    "}",
    "\n",
    '{"a":1},',
]
STEPS = 7
"""For each character at most: read twice by the grammar, and once by each of what looks for beginnings and wreckage."""


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("part", PARTS)
def test_a_flood_of_braces_takes_steps_in_proportion(part: str) -> None:
    words = part * (200_000 // len(part))
    assert steps(words) <= STEPS * len(words)


@pytest.mark.usefixtures("counting")
@given(st.lists(st.sampled_from([*PARTS, ":", ",", "[", "]", "1", "```", " "]), min_size=1, max_size=8).map("".join))
@settings(max_examples=100, deadline=None)
def test_braces_are_parsed_in_linear_time(part: str) -> None:
    words = part * (4_000 // len(part))
    assert steps(words) <= STEPS * len(words)
