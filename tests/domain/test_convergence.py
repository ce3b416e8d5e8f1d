"""When a discussion may end (S2 §1B; K-26, K-27, K-28, K-30)."""

import json
import math
import time
import unicodedata
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.convergence import assessment
from domain.convergence.assessment import Round, assess, assess_next, course, stop_reason
from domain.convergence.counts import agreement, similarity
from domain.convergence.profiles import MYSTI, PROFILES, SEED, SHIPPED_V3, Profile, Thresholds, named
from domain.values.base import Invalid

C, R = "critique", "rebuttal"


def rounds(*told: tuple[str, str]) -> list[Round]:
    return [Round(round=n, role=role, content=content) for n, (role, content) in enumerate(told, start=1)]


def near(share: float) -> object:
    return pytest.approx(share, abs=1e-9)


# ---------------------------------------------------------------------------------------------------- agreement

ENGLISH = [
    # S2's words
    ("I agree.", 1.0),
    ("They concede this, a valid point, correct, accepted, fair, acknowledged.", 1.0),
    ("I disagree.", 0.0),
    ("However, this is incorrect, but I challenge it, oppose it: a flaw.", 0.0),
    ("I agree with the plan, however I see one flaw.", 1 / 3),
    ("I agree. You are correct. It has a flaw.", 2 / 3),
    ("We looked at the plan.", 0.5),
    ("", 0.5),
    # stems, from the beginning of a word only
    ("agrees agreed agreement acknowledging accepts acceptable fairness correctly concession", 1.0),
    ("disagreement challenging opposed opposition flawed flaws", 0.0),
    ("An unfair, unacceptable and invalid point about the button, the butter and the debut.", 0.5),
    ("Incorrect", 0.0),
    ("AGREE", 1.0),
    ("is_correct and agreeing", 1.0),
    # words that only look like listed ones (D26)
    ("The validation passes its acceptance tests; a correction of the opposite, fairly flawless.", 0.5),
    # negation (D25): the word counts for the other side
    ("I do not agree.", 0.0),
    ("I don't agree.", 0.0),
    ("I don’t agree.", 0.0),
    ("I do **not** agree.", 0.0),
    ("I do _not_ agree.", 0.0),
    ("I do not\nagree.", 0.0),
    ("I do not, however, agree.", 0.0),
    ("I do not (yet) agree.", 0.0),
    ("I do not think this is correct.", 0.0),
    ("I do not agree that this is correct.", 0.0),
    ("We cannot accept this.", 0.0),
    ("That is not fair, nor correct.", 0.0),
    ("There are no flaws.", 1.0),
    ("I see no remaining flaw or incorrect step.", 1.0),
    ("I no longer oppose this.", 1.0),
    ("I do not disagree.", 1.0),
    ("Without flaws.", 1.0),
    ("Flaws: none", 1.0),
    ("Flaws found: 0", 1.0),
    ("0 flaws", 1.0),
    ("| Flaws | none |", 1.0),
    ("Flaws:\n\nNone.\n\nI agree.", 1.0),
    # what only looks like a negation
    ("No, I agree.", 1.0),
    ("No. I agree.", 1.0),
    ("No, really, I agree.", 1.0),
    ("Not only fair.", 1.0),
    ("I couldn't agree more.", 1.0),
    ("There is no doubt that this is correct.", 1.0),
    ("I have no objection to accept it.", 1.0),
    ("Nothing is missing and I agree.", 1.0),
    ("The cache is not shared, I agree.", 1.0),
    ("- not done\n- Agreed", 1.0),
    ("Flaws: 0 minor, 2 major", 0.0),
    ("Not without flaws.", 0.0),
    ("knot agree", 1.0),
]

KOREAN = [
    ("동의합니다.", 1.0),
    ("인정합니다. 타당한 지적입니다. 그 말이 맞습니다. 옳은 판단입니다. 수용하겠습니다. 공감합니다.", 1.0),
    ("반대합니다.", 0.0),
    ("그러나 이 설계는 틀렸습니다. 잘못된 가정이고 결함이 있습니다.", 0.0),
    ("동의합니다. 하지만 결함이 있습니다.", 1 / 3),
    ("동의하지만 충분합니다.", 0.5),
    ("데이터베이스 연결을 확인했습니다.", 0.5),
    ("동의하지 않습니다.", 0.0),
    ("동의하지 않습니다", 0.0),
    ("동의하지않습니다", 0.0),
    ("동의하지는 않습니다.", 0.0),
    ("동의하지 못합니다.", 0.0),
    ("동의할 수 없습니다.", 0.0),
    ("동의 안 합니다.", 0.0),
    ("동의하기 어렵습니다.", 0.0),
    ("맞지 않습니다.", 0.0),
    ("안 맞습니다.", 0.0),
    ("받아들일 수 없습니다.", 0.0),
    ("수용 불가", 0.0),
    ("반대하지 않습니다.", 1.0),
    ("틀렸다고 생각하지 않습니다.", 1.0),
    ("결함이 없습니다.", 1.0),
    ("결함이 전혀 발견되지 않았습니다.", 1.0),
    ("결함: 없음", 1.0),
    ("문제가 없습니다.", 1.0),
    ("문제없음", 1.0),
    ("문제 없습니다", 1.0),
    ("이의 없습니다.", 1.0),
    ("문제가 있습니다.", 0.0),
    ("동의합니다 결함이 없습니다", 1.0),
    ("타당하고 문제가 없습니다", 1.0),
    ("결함이 있어 동의할 수 없습니다.", 0.0),
    # two negations agree
    ("동의하지 않을 수 없습니다.", 1.0),
    ("동의할 수밖에 없습니다.", 1.0),
    # words that only look like listed ones
    ("반대로 보면 동의어 사전과 수용량입니다.", 0.5),
    ("사이의 차이의 값", 0.5),
    ("이 문제에 동의합니다.", 1.0),
    # both languages in one sentence
    ("flaw가 없습니다.", 1.0),
    ("I agree하지 않습니다.", 0.0),
]


@pytest.mark.parametrize(("text", "ratio"), ENGLISH + KOREAN)
def test_words_for_and_against_are_counted(text: str, ratio: float) -> None:
    assert agreement(text) == near(ratio)


@pytest.mark.parametrize(("text", "ratio"), KOREAN)
def test_korean_typed_as_letters_counts_like_korean_typed_as_syllables(text: str, ratio: float) -> None:
    assert agreement(unicodedata.normalize("NFD", text)) == near(ratio)


def test_invisible_characters_do_not_cut_a_word_in_two() -> None:
    assert agreement("I dis\u00adagree") == 0.0
    assert agreement("I dis\u200bagree") == 0.0


STRIPPED = [
    ("# Points of Disagreement\n## Flaws\nI agree.", 1.0),
    ("### 반대 의견\n동의합니다.", 1.0),
    ("#1 flaw", 0.0),
    ("I agree.\n```ts\n// however, incorrect but flawed\n```\n", 1.0),
    ("I agree.\n~~~\nflaw\n```\nflaw\n~~~\nStill agreed.", 1.0),
    ("````\nflaw\n```\nflaw\n````\nI agree.", 1.0),
    ("> ```\n> flaw\n> ```\n> I agree.", 1.0),
    ("I agree.\n```\nflaw, never closed", 1.0),
    ("```flaw``` in one line", 0.0),
    ("<think>I disagree, a flaw</think>I agree.", 1.0),
    ("<thinking>\nincorrect\n</thinking>\nI agree.", 1.0),
    ("[TOOL_CALL]however[/TOOL_CALL] I agree.", 1.0),
    ("<think>I disagree, never closed", 0.0),
    ('I agree. {"verdict": "CHALLENGE", "concerns": ["a flaw", "incorrect"]}', 1.0),
    ('I agree. {"verdict": "CHALLENGE", "summary": "a } brace, a \\" quote, a flaw"}', 1.0),
    ('I agree. {"concerns": [{"claim": "flaw"}], "verdict": "CHALLENGE"} Accepted.', 1.0),
    ('Use {x: "5" I agree. {"verdict": "CHALLENGE"}', 1.0),
    ('The 5" disk {"verdict": "CHALLENGE", "note": "flaw"}', 0.5),
    ('{"note": "flaw", "text": "verdict"}', 0.0),
    ('{"verdict": "PASS", "summary": "agree", never closed', 1.0),
]


@pytest.mark.parametrize(("text", "ratio"), STRIPPED)
def test_thoughts_headings_fenced_code_and_the_verdict_object_are_not_counted(text: str, ratio: float) -> None:
    assert agreement(text) == near(ratio)


SHIPPED = [
    ("right, a good point, well-taken, a sound, solid, reasonable and valid plan", 1.0),
    ("a problematic issue, a concern, wrong, a risk, vulnerable, missing, an oversight, a gap", 0.0),
    ("I agree, but.", 1.0),
    ("No issues.", 1.0),
    ("No issues or concerns.", 1.0),
    ("There are issues.", 0.0),
    ("The validation passes.", 0.5),
    ("# Missing Considerations\nI agree.", 1.0),
    ("동의합니다", 0.5),
]


@pytest.mark.parametrize(("text", "ratio"), SHIPPED)
def test_shipped_v3_has_its_own_word_list(text: str, ratio: float) -> None:
    """D25, D26: "no issues" counted against and "validation" for; they no longer do."""
    assert agreement(text, SHIPPED_V3) == near(ratio)


@pytest.mark.parametrize(
    ("text", "ratio"),
    [("I agree, well-taken", 1.0), ("I agreed", 0.5), ("I reject and defend and maintain", 0.0), ("fair, a flaw", 0.5)],
)
def test_mysti_counts_its_own_words_whole(text: str, ratio: float) -> None:
    assert agreement(text, MYSTI) == near(ratio)


# --------------------------------------------------------------------------------------------------- similarity


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        ("the quick brown fox", "the quick brown dog", 3 / 5),
        ("The QUICK fox", "fox; quick, the!", 1.0),
        ("alpha bravo", "charlie delta", 0.0),
        ("we go to it alpha", "alpha", 1.0),
        ("데이터베이스 연결을 확인", "데이터베이스 연결을 재시도", 2 / 3),
        ("전혀 다른 한국어입니다", "서로 무관한 문장이에요", 0.0),
        ("नमस्ते दुनिया", "नमस्ते दुनिया", 1.0),
        ("naïve café", unicodedata.normalize("NFD", "naïve café"), 1.0),
        ("", "", 0.0),
        ("alpha", "", 0.0),
        ("--- ...", "--- ...", 0.0),
        ("is it so", "is it so", 0.0),
        ("# Heading\nalpha", "# Other\nalpha", 1.0),
        ("```\none\n```\nalpha", "```\ntwo\n```\nalpha", 1.0),
        ('alpha {"verdict": "PASS"}', 'alpha {"verdict": "NEEDS_FIX"}', 1.0),
        ("```\nsame code\n```", "```\nsame code\n```", 0.0),
    ],
)
def test_similarity_is_shared_words_by_all_words(a: str, b: str, shared: float) -> None:
    """Words of three characters and more; two texts without words have nothing in common (D23, D27)."""
    assert similarity(a, b) == near(shared)


def test_mysti_divides_by_the_larger_set_of_words_longer_than_three_characters() -> None:
    assert similarity("alpha bravo the", "alpha delta gamma the", MYSTI) == near(1 / 3)
    assert similarity("alpha, bravo", "alpha bravo", MYSTI) == near(1 / 2)
    assert similarity("the fox", "the fox", MYSTI) == 0.0


# --------------------------------------------------------------------------------------------------- discussions

PASS = '```json\n{"verdict":"PASS","summary":"","issues":[],"missingConsiderations":[]}\n```'
BARE_PASS = '{"verdict":"PASS","summary":"fine","issues":[],"pointsOfAgreement":[],"missingConsiderations":[]}'
SEVEN_OF_TEN = "agree. " * 7 + "flaw. " * 3
TWO_OF_THREE = "agree. " * 2 + "flaw."
KO_AGREED = "계획에 동의합니다. 재시도 로직이 타당합니다."
KO_REFUSED = "이 계획에 동의하지 않습니다. 재시도가 필요합니다."

DISCUSSIONS = {
    "nothing said": ([], 0, 0, 0, "continue"),
    "one round is never enough": ([(C, "I agree with everything")], 1, 0, 0.6, "continue"),
    "critique and rebuttal differ by nature (D04)": (
        [(C, "This has a flaw in parsing"), (R, "Accepted, rewriting tests")],
        *(0.5, 0, 0.3, "continue"),
    ),
    "the same critique, agreeing": (
        [(C, "I agree alpha bravo"), (R, "Accepted delta echo"), (C, "I agree alpha bravo")],
        *(1, 1, 1, "converged"),
    ),
    "two agreeing pairs": (
        [(C, "I agree alpha"), (R, "Accepted delta"), (C, "I agree alpha"), (R, "Accepted delta")],
        *(1, 1, 1, "converged"),
    ),
    "the same critique, refusing (D12)": (
        [(C, "alpha bravo, a flaw"), (R, "However incorrect"), (C, "alpha bravo, a flaw")],
        *(0, 1, 0.4, "continue"),
    ),
    "agreement exactly at its threshold": (
        [(C, SEVEN_OF_TEN), (R, SEVEN_OF_TEN), (C, SEVEN_OF_TEN)],
        *(0.7, 1, 0.82, "converged"),
    ),
    "agreement just under": ([(C, TWO_OF_THREE), (R, TWO_OF_THREE), (C, TWO_OF_THREE)], 2 / 3, 1, 0.8, "continue"),
    "stability exactly at its threshold": (
        [(C, "agree aaa bbb ccc ddd eee fff ggg hhh"), (R, "accept"), (C, "agree aaa bbb ccc ddd eee fff ggg iii")],
        *(1, 0.8, 0.92, "converged"),
    ),
    "stability just under": (
        [(C, "agree aaa bbb ccc ddd eee fff ggg"), (R, "accept"), (C, "agree aaa bbb ccc ddd eee fff hhh")],
        *(1, 7 / 9, 0.6 + 0.4 * 7 / 9, "continue"),
    ),
    "getting worse and saying new things": (
        [(C, "agree alpha bravo"), (R, "accept delta echo"), (C, "flaw golf hotel")],
        *(2 / 3, 0, 0.4, "stalled"),
    ),
    "getting better while saying new things": (
        [(C, "flaw alpha bravo"), (R, "accept delta echo"), (C, "agree golf hotel")],
        *(2 / 3, 0, 0.4, "continue"),
    ),
    "no better and no worse": (
        [(C, "agree alpha"), (R, "accept bravo"), (C, "concede charlie")],
        *(1, 0, 0.6, "stalled"),
    ),
    "a little better by a word in common": (
        [(C, "agree alpha"), (R, "accept bravo"), (C, "agree delta echo foxtrot golf hotel")],
        *(1, 1 / 7, 0.6 + 0.4 / 7, "continue"),
    ),
    "getting worse at stability exactly 0.3": (
        [(C, "agree xxx yyy one two six"), (R, "accept"), (C, "flaw xxx yyy one ten www vvv")],
        *(2 / 3, 0.3, 0.52, "continue"),
    ),
    "getting worse at stability 3/11": (
        [(C, "agree xxx yyy one two six"), (R, "accept"), (C, "flaw xxx yyy one ten www vvv uuu")],
        *(2 / 3, 3 / 11, 0.4 + 0.4 * 3 / 11, "stalled"),
    ),
    "four rounds, one pair stable and one not (D07)": (
        [(C, "agree alpha"), (R, "flaw bravo"), (C, "agree alpha"), (R, "accept delta")],
        *(0.75, 0.5, 0.65, "continue"),
    ),
    "nobody agrees or disagrees, in the same words": (
        [(C, "alpha bravo"), (R, "delta"), (C, "alpha bravo")],
        *(0.5, 1, 0.7, "continue"),
    ),
    "no flaws, said twice": (
        [(C, "I found no flaws today"), (R, "Accepted, thanks"), (C, "I found no flaws today")],
        *(1, 1, 1, "converged"),
    ),
    "a refusal, said twice": (
        [(C, "I do not agree"), (R, "I cannot accept"), (C, "I do not agree")],
        *(0, 1, 0.4, "continue"),
    ),
    "pure PASS in a fence (D18)": ([(C, PASS), (R, PASS), (C, PASS)], 0.5, 0, 0.3, "continue"),
    "pure PASS, bare (D18)": ([(C, BARE_PASS), (R, BARE_PASS), (C, BARE_PASS)], 0.5, 0, 0.3, "continue"),
    "PASS behind words": (
        [(C, "I agree now. " + BARE_PASS), (R, "Accepted. " + BARE_PASS), (C, "I agree now.\n" + PASS)],
        *(1, 1, 1, "converged"),
    ),
    "nothing but headings": (
        [(C, "# Fair\n## Agreed"), (R, "# Accepted"), (C, "# Fair\n## Agreed")],
        0.5,
        0,
        0.3,
        "continue",
    ),
    "nothing but code": ([(C, "```\nagree\n```"), (R, "```\nx\n```"), (C, "```\nagree\n```")], 0.5, 0, 0.3, "continue"),
    "empty replies (D27)": ([(C, ""), (R, ""), (C, ""), (R, "")], 0.5, 0, 0.3, "continue"),
    "dots and spaces": ([(C, "..."), (R, " \n"), (C, "...")], 0.5, 0, 0.3, "continue"),
    "the last critique is empty": (
        [(C, "I agree alpha"), (C, "I agree alpha"), (C, "")],
        *(2.5 / 3, 1, 0.6 * 2.5 / 3 + 0.4, "continue"),
    ),
    "one side says nothing": (
        [(C, "I agree alpha"), (R, ""), (C, "I agree alpha"), (R, "")],
        *(0.75, 1, 0.85, "continue"),
    ),
    "no pair is made across an empty reply": (
        [(C, "I agree alpha"), (C, ""), (C, "I agree alpha")],
        *(2.5 / 3, 0, 0.5, "continue"),
    ),
    "roles that speak once (perspectives)": (
        [("risk-analysis", "agree alpha"), ("innovation-analysis", "agree alpha"), ("cross-review", "agree alpha")],
        *(1, 0, 0.6, "continue"),
    ),
    "a cross-review that repeats itself": (
        [
            ("risk-analysis", "accept"),
            ("innovation-analysis", "fair"),
            ("cross-review", "agree"),
            ("cross-review", "agree"),
        ],
        *(1, 1, 1, "converged"),
    ),
    "different Korean texts (D23)": (
        [(C, "데이터베이스 연결을 재시도합니다"), (R, "로그를 남기도록 고쳤습니다"), (C, "테스트를 추가해야 합니다")],
        *(0.5, 0, 0.3, "stalled"),
    ),
    "two different Korean rounds (D23)": (
        [(C, "데이터베이스 연결을 재시도합니다"), (R, "로그를 남기도록 고쳤습니다")],
        *(0.5, 0, 0.3, "continue"),
    ),
    "Korean agreement": (
        [(C, KO_AGREED), (R, "지적을 인정합니다. 로그를 추가했습니다."), (C, KO_AGREED)],
        *(1, 1, 1, "converged"),
    ),
    "Korean refusal, repeated": ([(C, KO_REFUSED), (R, "반대합니다."), (C, KO_REFUSED)], 0, 1, 0.4, "continue"),
    "Korean, typed as syllables and as letters": (
        [(C, KO_AGREED), (R, "수용하겠습니다."), (C, unicodedata.normalize("NFD", KO_AGREED))],
        *(1, 1, 1, "converged"),
    ),
    "Korean, from agreement to objection": (
        [(C, "전체 계획에 동의합니다"), (R, "의견을 수용합니다"), (C, "그러나 캐시에 결함이 있습니다")],
        *(2 / 3, 0, 0.4, "stalled"),
    ),
    "Korean, from objection to agreement": (
        [(C, "캐시에 결함이 있습니다"), (R, "지적을 인정합니다"), (C, "이제 결함이 없습니다")],
        *(2 / 3, 1 / 4, 0.5, "continue"),
    ),
    "Korean, half and half": (
        [(C, "동의합니다. 다만 캐시가 느립니다."), (R, "맞습니다."), (C, "동의합니다. 다만 캐시가 느립니다.")],
        *(2 / 3, 1, 0.8, "continue"),
    ),
    "Korean and English": (
        [(C, "이 설계에 agree합니다"), (R, "Accepted, 감사합니다"), (C, "이 설계에 agree합니다")],
        *(1, 1, 1, "converged"),
    ),
    "Korean headings around agreement": (
        [(C, "## 반대 의견\n\n계획에 동의합니다"), (R, "수용합니다"), (C, "## 결함\n\n계획에 동의합니다")],
        *(1, 1, 1, "converged"),
    ),
    "Chinese, in the same words": (
        [(C, "我们检查了计划"), (R, "我们修改了"), (C, "我们检查了计划")],
        0.5,
        1,
        0.7,
        "continue",
    ),
}


@pytest.mark.parametrize(("told", "ratio", "stability", "score", "what"), DISCUSSIONS.values(), ids=DISCUSSIONS)
def test_a_discussion_is_judged_by_the_seed(
    told: list[tuple[str, str]], ratio: float, stability: float, score: float, what: str
) -> None:
    result = assess(rounds(*told), SEED)
    assert (result.agreement_ratio, result.avg_stability, result.overall_score) == (
        near(ratio),
        near(stability),
        near(score),
    )
    assert (result.recommendation, result.profile) == (what, "seed")


def test_metrics_are_camel_case_on_the_wire() -> None:
    assert assess(rounds((C, "I agree"))).model_dump(by_alias=True) == {
        "agreementRatio": 1.0,
        "avgStability": 0.0,
        "overallScore": 0.6,
        "recommendation": "continue",
        "profile": "seed",
    }


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ([], "continue"),
        ([(C, "agree alpha")], "continue"),
        ([(C, "agree alpha"), (R, "accept bravo")], "continue"),
        # any third round ends the talk
        ([(C, "agree alpha"), (R, "accept bravo"), (C, "flaw delta")], "stalled"),
        ([(C, ""), (R, ""), (C, "")], "stalled"),
        # 0.55 and 0.5
        ([(C, "agree alpha bravo"), (R, "accept"), (C, "agree alpha delta")], "converged"),
        ([(C, "agree alpha bravo"), (R, "wrong. risk. gap"), (C, "agree alpha delta")], "converged"),
        ([(C, "wrong alpha bravo"), (R, "accept"), (C, "wrong alpha delta")], "stalled"),
        # stability alone, however little they agree (D12)
        ([(C, "wrong alpha bravo"), (R, "a risk"), (C, "wrong alpha bravo")], "converged"),
        # what said nothing does not converge by saying it again (D18, D23, D27)
        ([(C, BARE_PASS), (R, BARE_PASS), (C, BARE_PASS)], "stalled"),
        ([(C, "동의합니다"), (R, "고쳤습니다")], "continue"),
    ],
)
def test_shipped_v3_keeps_its_own_numbers(told: list[tuple[str, str]], what: str) -> None:
    result = assess(rounds(*told), SHIPPED_V3)
    assert (result.recommendation, result.profile) == (what, "shipped-v3")


def test_mysti_reads_only_the_last_round_and_counts_no_pair_as_half_stable() -> None:
    result = assess(rounds((C, "reject, wrong"), (R, "agree, correct, wrong")), MYSTI)
    assert result.agreement_ratio == near(2 / 3)
    assert result.avg_stability == 0.5
    assert result.overall_score == near(0.6)
    assert (result.recommendation, result.profile) == ("continue", "mysti")


def test_mysti_adds_up_all_agents_of_the_last_round() -> None:
    output = [("claude", "agree alpha bravo"), ("codex", "wrong alpha")] * 2
    result = assess([Round(round=1 + n // 2, role=role, content=text) for n, (role, text) in enumerate(output)], MYSTI)
    assert (result.agreement_ratio, result.avg_stability, result.recommendation) == (0.5, 1.0, "continue")


def test_mysti_converges_when_the_last_round_agrees_and_repeats() -> None:
    output = rounds((C, "agree alpha bravo"), (R, "wrong wrong"), (C, "agree alpha bravo"))
    assert assess(output, MYSTI).recommendation == "converged"


def test_mysti_stalls_only_after_two_earlier_rounds() -> None:
    two = rounds((C, "agree alpha"), (C, "wrong delta"))
    assert assess(two, MYSTI).recommendation == "continue"
    assert assess([*two, Round(round=3, role=C, content="reject hotel")], MYSTI).recommendation == "stalled"


def test_without_words_no_profile_converges() -> None:
    for profile in (*PROFILES.values(), named({"agreement": 0, "stability": 0, "stall": 0})):
        assert assess(rounds(*[(C, "...")] * 4), profile).recommendation != "converged"


# ----------------------------------------------------------------------------------------------------- profiles


def test_profiles_are_found_by_name() -> None:
    assert (named(), named("seed"), named("shipped-v3"), named("mysti")) == (SEED, SEED, SHIPPED_V3, MYSTI)
    assert [p.id for p in PROFILES.values()] == ["seed@1", "shipped-v3@1", "mysti@1"]


def test_an_unknown_profile_is_refused_with_the_known_names() -> None:
    with pytest.raises(Invalid) as refused:
        named("v4")
    assert refused.value.errors == {
        "/profile": "Unknown profile; choose one of seed, shipped-v3, mysti, or thresholds."
    }


def test_thresholds_override_the_seed() -> None:
    loose = named({"agreement": 0.4, "stability": 0.5})
    assert (loose.name, loose.agreement, loose.stability, loose.stall, loose.agreement_weight) == (
        *("custom", 0.4, 0.5),
        *(0.3, 0.6),
    )
    output = rounds((C, "agree. flaw. alpha"), (R, "accept"), (C, "agree. flaw. alpha"))
    assert assess(output, SEED).recommendation == "continue"
    assert (assess(output, loose).recommendation, assess(output, loose).profile) == ("converged", "custom")


def test_thresholds_may_be_named_like_the_metrics_they_are_for() -> None:
    assert named({"agreementRatio": 0.5, "avgStability": 0.6, "agreementWeight": 1}) == named(
        Thresholds(agreement=0.5, stability=0.6, agreement_weight=1.0)
    )


def test_the_weight_of_agreement_makes_the_score() -> None:
    output = rounds((C, "agree"), (R, "accept"), (C, "agree"), (R, "flaw"))
    assert assess(output, named({"agreementWeight": 1})).overall_score == near(0.75)
    assert assess(output, named({"agreementWeight": 0})).overall_score == near(0.5)


@pytest.mark.parametrize(
    ("given_thresholds", "pointer"),
    [
        ({"agreement": 1.01}, "/profile/agreement"),
        ({"stability": -0.1}, "/profile/stability"),
        ({"stall": math.nan}, "/profile/stall"),
        ({"stall": math.inf}, "/profile/stall"),
        ({"agreement": "0.7"}, "/profile/agreement"),
        ({"agreement": True}, "/profile/agreement"),
        ({"agreement": None}, "/profile/agreement"),
        ({"agreementWeight": 2}, "/profile/agreementWeight"),
        ({"words/list~": []}, "/profile/words~1list~0"),
        ({"name": "seed"}, "/profile/name"),
    ],
)
def test_thresholds_are_checked(given_thresholds: dict[str, object], pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        named(given_thresholds)
    assert list(refused.value.errors) == [pointer]


def test_a_profile_survives_the_log() -> None:
    for profile in (*PROFILES.values(), named({"stall": 0.1})):
        assert Profile.model_validate(json.loads(profile.model_dump_json(by_alias=True))) == profile


def test_a_round_has_a_number_a_role_and_words() -> None:
    with pytest.raises(ValidationError):
        Round.model_validate({"round": -1, "role": C, "content": ""})
    with pytest.raises(ValidationError):
        Round.model_validate({"round": 1, "role": C, "content": "", "pass": True})


# ------------------------------------------------------------------------------------------------------- ending


@pytest.mark.parametrize(
    ("told", "limit", "reason"),
    [
        ([], 3, None),
        ([(C, "agree alpha")], 1, "limit"),
        ([(C, "agree alpha")], 2, None),
        ([(C, "agree alpha"), (R, "accept"), (C, "agree alpha")], 3, "converged"),
        ([(C, "agree alpha"), (R, "accept"), (C, "agree alpha")], 9, "converged"),
        ([(C, "agree alpha"), (R, "accept"), (C, "flaw bravo")], 3, "stalled"),
        ([(C, "flaw alpha"), (R, "accept"), (C, "flaw alpha")], 3, "limit"),
        ([(C, "flaw alpha"), (R, "accept"), (C, "flaw alpha")], 4, None),
    ],
)
def test_a_discussion_ends_by_convergence_stalling_or_its_limit(
    told: list[tuple[str, str]], limit: int, reason: str | None
) -> None:
    """K-28: what ends by the limit says so."""
    assert stop_reason(assess(rounds(*told), SEED).recommendation, len(told), limit) == reason


# --------------------------------------------------------------------------------------------------- properties

PIECES = st.sampled_from(
    [
        *(
            "I agree",
            "not",
            "no",
            "flaws",
            "but",
            "however",
            ",",
            ".",
            "\n",
            "\n\n",
            "# ",
            "```",
            "<think>",
            "</think>",
        ),
        *(
            "동의하지",
            "않습니다",
            "결함이",
            "없습니다",
            "하지만",
            '{"verdict":',
            '"PASS"',
            "}",
            "{",
            '"',
            "\\",
            "none",
            ":",
        ),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=12).map(" ".join), st.lists(PIECES, max_size=12).map("".join))
PROFILE = st.sampled_from([*PROFILES.values(), named({"agreementWeight": 0.3})])
TOLD = st.lists(st.tuples(st.sampled_from([C, R, "defense"]), TEXTS), max_size=6)


@given(TEXTS, PROFILE)
def test_agreement_is_a_share(text: str, profile: Profile) -> None:
    assert 0.0 <= agreement(text, profile) <= 1.0


@given(TEXTS, TEXTS, PROFILE)
def test_similarity_is_a_share_and_the_same_both_ways(a: str, b: str, profile: Profile) -> None:
    shared = similarity(a, b, profile)
    assert 0.0 <= shared <= 1.0
    assert shared == similarity(b, a, profile)


@given(TEXTS, PROFILE)
def test_a_text_is_equal_to_itself_or_has_no_words(text: str, profile: Profile) -> None:
    assert similarity(text, text, profile) in (0.0, 1.0)
    assert similarity(f"wording\n{text}", f"wording\n{text}", profile) == 1.0


@given(TEXTS, st.sampled_from(["I agree.", "동의합니다.", "Accepted", "correct"]))
def test_one_more_word_of_agreement_never_lowers_the_ratio(text: str, word: str) -> None:
    assert agreement(f"{text}\n\n{word}") >= agreement(text)


@given(TEXTS, st.sampled_from(["A flaw.", "반대합니다.", "I do not agree", "however"]))
def test_one_more_word_of_disagreement_never_raises_the_ratio(text: str, word: str) -> None:
    assert agreement(f"{text}\n\n{word}") <= agreement(text)


@given(TOLD, PROFILE)
def test_every_metric_is_a_share_and_one_round_never_converges(told: list[tuple[str, str]], profile: Profile) -> None:
    result = assess(rounds(*told), profile)
    for share in (result.agreement_ratio, result.avg_stability, result.overall_score):
        assert 0.0 <= share <= 1.0
    if len(told) < 2:
        assert result.recommendation == "continue"


HOSTILE = [
    *("{", '{"a":', '"\\', "<think>", "[TOOL_CALL]", "```\n", "# ", "#", "\n", "\n ", " ", "> ", "`", "'", '"', "{}"),
    *("1.", "1", "a'", "no ", "not agree ", "agree, ", "지만", "밖에", "동의 ", "결함 없 ", "valid ", "flaw : ", ", "),
    *("\u0301", "\u00ad", "\u200b", "\u1100", '{"verdict" ', '"verdict" '),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    """Thirty-two times the text may take some thirty-two times as long; a quadratic rule would take a thousand."""

    def seconds(length: int) -> float:
        text = '{"\\' + piece * (length // len(piece))
        started = time.thread_time()
        assess(rounds((C, text), (C, text)), SEED)
        return time.thread_time() - started

    small = min(seconds(2_000) for _ in range(3))
    assert any(seconds(64_000) < 200 * small + 0.05 for _ in range(3))


@settings(max_examples=25)
@given(st.text(alphabet="{}\"\\`~#\n<>/think agre'동의않", max_size=400))
def test_no_mixture_of_marks_is_too_much(text: str) -> None:
    assert assess(rounds((C, text), (R, text), (C, text))).recommendation in ("converged", "stalled", "continue")


def test_judging_after_every_round_is_judging_at_the_end_and_reads_each_text_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []
    read = assessment.read
    monkeypatch.setattr(assessment, "read", lambda text, profile: (looks.append(text), read(text, profile))[1])
    for profile in (SEED, SHIPPED_V3, MYSTI):
        texts = [
            Round(round=n // 2, role="ab"[n % 2], content=f"Word{n % 7} and part {n} are fine.") for n in range(60)
        ]
        looks.clear()
        after_each = [
            assess_next(f"{at}", f"{at + 1}", partial(texts.__getitem__, slice(at + 1)), texts[at], profile)
            for at in range(60)
        ]
        assert len(looks) == len(texts)
        again = assess_next("1", "2", partial(texts.__getitem__, slice(2)), texts[1], profile)
        assert again == after_each[1], "what is no longer known is read again"
        assert after_each == [*course(texts, profile)]
        assert assess(texts, profile) == after_each[-1]
