"""Every message exists in English and Korean, with the same places; readers get the language they prefer."""

import re
from string import Formatter

import pytest

from domain.values.sentences import Sentence, in_language
from domain.values.words import LANGUAGES, catalogue, of_environment, preferred, with_particles, words

ROOMS = ("projections.record", "api.web")
HANGUL = re.compile("[가-힣]")
BOTH_WAYS = {"other_language"}
"""A message that names the other language."""


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("room", ROOMS)
def test_every_message_exists_in_both_languages(room: str) -> None:
    for key, both in catalogue(room).items():
        assert set(both) == set(LANGUAGES), key
        assert all(text.strip() for text in both.values()), key


@pytest.mark.parametrize("room", ROOMS)
def test_both_languages_fill_the_same_places(room: str) -> None:
    different = [key for key, both in catalogue(room).items() if places(both["en"]) != places(both["ko"])]
    assert different == []


@pytest.mark.parametrize("room", ROOMS)
def test_english_messages_hold_no_korean(room: str) -> None:
    assert {key for key, both in catalogue(room).items() if HANGUL.search(both["en"])} <= BOTH_WAYS


def test_no_two_rooms_name_the_same_thing() -> None:
    keys = [key for room in ROOMS for key in catalogue(room)]
    assert len(keys) == len(set(keys))


def test_a_recorded_value_without_a_name_names_itself() -> None:
    assert words("ko", *ROOMS).of("status", "some_later_status") == "some_later_status"


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("", "en"),
        ("ko", "ko"),
        ("ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7", "ko"),
        ("en-US,en;q=0.9,ko;q=0.8", "en"),
        ("de,ko;q=0.3", "ko"),
        ("fr-FR", "en"),
        ("ko;q=0", "en"),
        ("ko;q=nan", "en"),
        ("ko;q=x,en;q=0.1", "en"),
        ("*", "en"),
    ],
)
def test_a_browser_gets_the_language_it_prefers(accepted: str, expected: str) -> None:
    assert preferred(accepted) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "ko_KR.UTF-8"}, "ko"),
        ({"LC_ALL": "ko", "LC_MESSAGES": "en_US", "LANG": "de_DE"}, "ko"),
        ({"LC_ALL": "", "LANG": "ko_KR"}, "ko"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_a_terminal_speaks_the_language_of_its_locale(environment: dict[str, str], expected: str) -> None:
    assert of_environment(environment) == expected


@pytest.mark.parametrize(
    ("value", "fitting"),
    [
        ("하늘", "하늘이 하늘을 하늘은 하늘과 하늘로"),  # ㄹ takes 로
        ("구름", "구름이 구름을 구름은 구름과 구름으로"),
        ("바다", "바다가 바다를 바다는 바다와 바다로"),
        (1, "1이 1을 1은 1과 1로"),  # 일
        (2, "2가 2를 2는 2와 2로"),  # 이
        (10, "10이 10을 10은 10과 10으로"),  # 십
        ("Ada", "Ada가 Ada를 Ada는 Ada와 Ada로"),
        ("main", "main이 main을 main은 main과 main으로"),
        ("src/model", "src/model이 src/model을 src/model은 src/model과 src/model로"),
        ("7f3c", "7f3c가 7f3c를 7f3c는 7f3c와 7f3c로"),  # an id is spelled
        ("File", "File이(가) File을(를) File은(는) File와(과) File(으)로"),  # 파일, but Claude is 클로드
        ("…", "…이(가) …을(를) …은(는) …와(과) …(으)로"),
    ],
)
def test_particles_fit_the_sound_before_them(value: object, fitting: str) -> None:
    template = "{it}이(가) {it}을(를) {it}은(는) {it}와(과) {it}(으)로"
    assert with_particles(template, {"it": value}) == fitting


def test_particles_look_through_quotes_and_leave_values_alone() -> None:
    assert with_particles("`{it}`을(를)", {"it": "npm ci"}) == "`npm ci`를"
    assert with_particles("{it!r}이(가)", {"it": "하늘"}) == "'하늘'이"
    assert with_particles("{it}을(를) {other}", {"it": "{other}", "other": "b을(를)"}) == "{other}를 b을(를)"
    assert in_language(Sentence("duplicate_key", key="'id'"), "ko") == "한 객체 안에 키 'id'가 두 번 있습니다."


@pytest.mark.parametrize("room", (*ROOMS, "domain.values", "api.cli"))
def test_no_korean_particle_is_fixed_after_a_name(room: str) -> None:
    """After a place, only both forms together are right for every value."""
    fixed = re.compile(r"\}[^\w\s{}]*(이|가|을|를|은|는|과|와|으로|로|이나|라는)(?![가-힣(])")
    counted = {"events", "texts", "receipts", "freed"}  # end in 개 and B
    for key, both in catalogue(room).items():
        for match in fixed.finditer(both["ko"]):
            place = both["ko"][: match.start()].rpartition("{")[2]
            assert place in counted, (key, both["ko"])
