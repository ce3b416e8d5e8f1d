"""Triage and intents: every row of the seed's table, every phrase, and the ways a port of the rule goes wrong."""

import hashlib
import time
import unicodedata
from typing import Any

import pytest

from domain.triage import DEFAULT_POLICY, POLICIES, Triage, intent, nearly, triage
from domain.values.base import Invalid

SEED_ROWS = [
    pytest.param("안녕", (), id="S3-table-1"),
    pytest.param("그래서 대답이 뭐냐고", (), id="S3-table-2"),
    pytest.param("서버 상태 어때?", ("keyword",), id="S3-table-3"),
    pytest.param("API가 뭐야?", ("keyword",), id="S3-table-4"),
    pytest.param("코드 리뷰해줘", (), id="S3-table-5"),
    pytest.param("src/agent.js 수정해줘", ("keyword", "keywords", "path"), id="S3-table-6"),
    pytest.param("API 만들고 테스트 작성해", ("keyword", "keywords"), id="S3-table-7"),
    pytest.param(
        "메모리 시스템 리팩토링하고 벡터 DB 추가해줘 그리고 테스트도...",
        ("keyword", "keywords", "multi"),
        id="S3-table-8",
    ),
    pytest.param("ㅇㅇ", (), id="S3-test-5"),
    pytest.param("고마워", (), id="S3-test-6"),
    pytest.param("API 엔드포인트 만들어줘", ("keyword", "keywords"), id="S3-test-9"),
    pytest.param("메모리 시스템 리팩토링하고 벡터 DB 추가해줘", ("keyword", "keywords"), id="S3-test-10"),
    pytest.param("API 어때?", ("keyword",), id="S3-text-1"),
    pytest.param("src/agent.js의 함수를 리팩토링하고 테스트 작성해줘", ("keyword", "keywords", "path"), id="S3-text-2"),
]


@pytest.mark.parametrize(("text", "signals"), SEED_ROWS)
def test_the_default_policy_decides_every_example_of_the_seed_correctly(text: str, signals: tuple[str, ...]) -> None:
    assert triage(text) == Triage.model_validate({"orchestrate": len(signals) >= 2, "signals": signals})


ORCHESTRATED = {"S3-table-6", "S3-table-7", "S3-table-8", "S3-test-9", "S3-test-10", "S3-text-2"}


@pytest.mark.parametrize(("text", "case"), [(row.values[0], row.id) for row in SEED_ROWS])
def test_six_examples_of_the_seed_are_orchestrated_and_the_others_answered(text: str, case: str) -> None:
    assert triage(text).orchestrate is (case in ORCHESTRATED)


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\u3000\ufeff\u00a0"])
def test_an_empty_text_has_no_signal(text: str) -> None:
    assert triage(text) == Triage(orchestrate=False, signals=())


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        ("가" * 79, ()),
        ("가" * 80, ("length",)),
        ("  " + "가" * 79 + "\n\n", ()),
        ("😀" * 39, ()),
        ("😀" * 40, ("length",)),
        (unicodedata.normalize("NFD", "각" * 79), ()),
    ],
    ids=["79", "80", "79-trimmed", "emoji-78-units", "emoji-80-units", "79-typed-by-letters"],
)
def test_length_counts_utf16_units_of_the_trimmed_and_composed_text(text: str, signals: tuple[str, ...]) -> None:
    assert triage(text).signals == signals


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        ("api", ("keyword",)),
        ("API가", ("keyword",)),
        ("가API", ("keyword",)),
        ("rapid", ()),
        ("API_KEY", ()),
        ("DB3", ()),
        ("DBé", ("keyword",)),
        (".PY", ("keyword",)),
        ("main.rſ", ()),
        ("README.mdx", ("keyword",)),
        ("image.png", ()),
    ],
)
def test_whole_words_end_at_ascii_boundaries_and_case_is_ascii_case(text: str, signals: tuple[str, ...]) -> None:
    assert triage(text).signals == signals


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        ("API API", ("keyword",)),
        ("API api", ("keyword", "keywords")),
        ("a.js b.json", ("keyword",)),
        ("a.js b.JS", ("keyword", "keywords")),
        ("버그 디버그", ("keyword", "keywords")),
        ("테스트 테스트", ("keyword",)),
    ],
)
def test_keywords_are_distinct_by_their_exact_spelling(text: str, signals: tuple[str, ...]) -> None:
    assert triage(text).signals == signals


KEYWORDS = """
.js .ts .jsx .tsx .py .md .json .css .html .sql .yml .yaml .sh .go .rs .swift API DB
구현 작성 만들어 수정 코딩 리팩 버그 에러 디버그 테스트 빌드 설치 배포 삭제 추가 변경 생성 개발
엔드포인트 서버 라우트 스키마 컴포넌트 모듈 함수 클래스
"""
FOLDERS = "src bin public lib devlog config component components page pages SRC webapi"


@pytest.mark.parametrize("word", KEYWORDS.split())
def test_every_shipped_keyword_is_one_signal(word: str) -> None:
    assert triage(word).signals == ("keyword",)


@pytest.mark.parametrize("folder", FOLDERS.split())
def test_a_known_folder_before_a_slash_is_a_path(folder: str) -> None:
    assert triage(f"{folder}/x").signals == ("path",)
    assert triage(f"{folder} x").signals == ()


def test_the_folder_api_is_also_the_word_api() -> None:
    assert triage("api/users").signals == ("keyword", "path")


def test_an_absolute_path_is_not_a_signal() -> None:
    """K-22: a known limit of the shipped rule."""
    assert triage("/home/me/thing 보여줘").signals == ()


@pytest.mark.parametrize("joiner", ["그리고", "다음에", "먼저", "또한", "추가로"])
def test_a_joining_word_is_a_signal_of_several_tasks(joiner: str) -> None:
    expected = ("keyword", "multi") if joiner == "추가로" else ("multi",)
    assert triage(joiner).signals == expected


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        ("하나\n\n둘", ("multi",)),
        ("하나\r\n\r\n둘", ("multi",)),
        ("하나\n둘", ()),
        ("1. 하나", ("multi",)),
        ("12.\u3000하나", ("multi",)),
        ("1.5배", ()),
        ("끝 2.", ()),
        ("\u0663. 하나", ()),
    ],
    ids=["empty-line", "empty-line-crlf", "line", "number", "wide-space", "fraction", "number-at-end", "arabic-digit"],
)
def test_empty_lines_and_numbered_lists_are_signals_of_several_tasks(text: str, signals: tuple[str, ...]) -> None:
    assert triage(text).signals == signals


def test_all_five_signals_come_in_the_order_of_the_rule() -> None:
    text = "먼저 src/agent.js 수정하고 " + "가" * 80
    assert triage(text).signals == ("length", "keyword", "keywords", "path", "multi")


@pytest.mark.parametrize("text", [row.values[0] for row in SEED_ROWS])
def test_korean_typed_letter_by_letter_is_judged_the_same(text: str) -> None:
    assert triage(unicodedata.normalize("NFD", str(text))) == triage(str(text))


@pytest.mark.parametrize(
    ("text", "by_default", "with_english"),
    [
        ("Refactor the auth module and add unit tests", False, True),
        ("Fix the bug in src/auth.py, then deploy", True, True),
        ("What is the difference between a function and a class?", False, False),
        ("Latest news about the weather?", False, False),
        ("함수와 클래스 차이가 뭐야?", True, True),
        ("안녕", False, False),
    ],
)
def test_english_words_are_a_list_of_their_own(text: str, by_default: bool, with_english: bool) -> None:
    """K-23: the default policy stays as shipped, its known misjudgements included."""
    assert triage(text).orchestrate is by_default
    assert triage(text, "ko+en@1").orchestrate is with_english


def test_the_english_list_alone_knows_no_korean_word() -> None:
    assert triage("함수를 구현하고 테스트 작성해줘", "en@1").signals == ()
    assert triage("Write it, then test it", "en@1").signals == ("keyword", "keywords", "multi")


def test_an_unknown_policy_is_refused_with_the_known_names() -> None:
    with pytest.raises(Invalid, match=r"seed-ko@1, en@1, ko\+en@1"):
        triage("안녕", "seed-ko@2")


@pytest.mark.parametrize(
    ("policy", "digest"),
    [("seed-ko@1", "6f457b6d4a438624"), ("en@1", "2c54dd49210a0616"), ("ko+en@1", "96a474fc47a17fa2")],
)
def test_a_released_word_list_never_changes(policy: str, digest: str) -> None:
    """Logged verdicts name the list: other words need a new version, not a new digest here."""
    assert hashlib.sha256(POLICIES[policy].model_dump_json().encode()).hexdigest()[:16] == digest


def test_every_released_list_is_pinned_and_the_shipped_one_is_the_default() -> None:
    assert tuple(POLICIES) == ("seed-ko@1", "en@1", "ko+en@1")
    assert DEFAULT_POLICY == "seed-ko@1"


@pytest.mark.parametrize(
    "text",
    ["1" * 1_000_000, "가" + "\u0301\u0323" * 500_000, "가" + "\u0f73" * 500_000, "." * 1_000_000, " \n" * 500_000],
    ids=["digits", "marks", "marks-of-class-0", "dots", "space"],
)
def test_a_hostile_megabyte_is_judged_in_linear_time(text: str) -> None:
    """Quadratic work on any of these takes minutes."""
    began = time.process_time()
    triage(text)
    intent(text)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "text",
    [
        "/continue",
        "continue",
        "/CONTINUE",
        " Continue\n",
        "이어서",
        "이어서 해줘",
        "이어서해줘",
        "이어서  해줘",
        "계속",
        "계속 해줘",
        "계속해줘",
        "다음",
        "다음해봐",
        "다음 해봐",
        "리뷰",
        "리뷰해봐",
        "리뷰 해봐",
    ],
)
def test_the_exact_continue_phrases_are_the_continue_intent(text: str) -> None:
    """S1 §2, K-6."""
    assert intent(text) == "continue"
    assert intent(unicodedata.normalize("NFD", text)) == "continue"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("리셋", id="RS-001"),
        pytest.param("phase reset", id="RS-003"),
        "리셋해",
        "초기화",
        "초기화해",
        "페이즈 리셋",
        "페이즈리셋",
        "페이 리셋",
        "페이즈 리셋해",
        "phasereset",
        "Phase  Reset",
        "reset",
        "RESET ",
    ],
)
def test_the_exact_reset_phrases_are_the_reset_intent(text: str) -> None:
    """S1 §3.7 as whole texts (K-1)."""
    assert intent(text) == "reset"
    assert intent(unicodedata.normalize("NFD", text)) == "reset"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("리셋해줘", id="RS-002"),
        pytest.param("안녕", id="RS-004"),
        pytest.param("초기화 코드를 작성해줘", id="K-1-code"),
        pytest.param("리셋 버튼 추가해줘", id="K-1-button"),
        pytest.param("리셋하지 마", id="K-1-negated"),
        pytest.param("다른데서 리뷰했으니 리셋해", id="K-1-scenario-2"),
        pytest.param("리뷰도 해봐", id="K-6"),
        "again",
        "다시",
        "다시 해줘",
        "코드 리뷰해줘",
        "리뷰해줘",
        "이어서 해줘.",
        "리셋!",
        "/reset",
        "//continue",
        "reset the password form",
        "please continue",
        "reſet",
        "phase" + " " * 60 + "reset",
        "",
        "   ",
    ],
)
def test_any_other_text_is_a_message(text: str) -> None:
    assert intent(text) is None


# -- nearly a word to continue, reset or cancel (contract §13) -----------------------------------------------------


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("리셋해줘", "reset"),
        ("리셋 해 주세요.", "reset"),
        ("처음부터 다시", "reset"),
        ("처음부터 다시 해줘", "reset"),
        ("다시 시작해줘", "reset"),
        ("초기화해줘!", "reset"),
        ("Reset it, please", "reset"),
        ("start over", "reset"),
        ("계속 진행해줘", "continue"),
        ("이어서 진행해줘", "continue"),
        ("이어서 해줘!", "continue"),
        ("그럼 계속하자", "continue"),
        ("진행해", "continue"),
        ("다음 단계로 가자", "continue"),
        ("please continue", "continue"),
        ("Can you continue?", "continue"),
        ("ok, go on", "continue"),
        ("취소해", "cancel"),
        ("취소해 주세요", "cancel"),
        ("그만해", "cancel"),
        ("멈춰줘", "cancel"),
        ("stop it!", "cancel"),
        ("cancel", "cancel"),
    ],
)
def test_a_near_miss_of_a_phrase_gets_suggestions(text: str, nearest: str, form: Any) -> None:
    assert intent(text) is None
    assert nearly(unicodedata.normalize(form, text))[0] == nearest
    assert set(nearly(text)) == {"continue", "reset", "cancel"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "고마워",
        "다시",
        "again",
        "리뷰도 해봐",
        "코드 리뷰해줘",
        "리셋 버튼 추가해줘",
        "리셋하지 마",
        "다른데서 리뷰했으니 리셋해",
        "초기화 코드를 작성해줘",
        "취소 버튼을 만들어줘",
        "이어서 테스트도 해줘",
        "다음 함수를 고쳐줘",
        "continue the work",
        "cancel the order in checkout.py",
        "stop the server",
        "reset the password form",
        "next step: add tests",
        "계속 " * 40,
    ],
)
def test_a_sentence_about_work_suggests_nothing(text: str) -> None:
    assert nearly(text) == ()
