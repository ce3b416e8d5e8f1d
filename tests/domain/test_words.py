"""Every message exists in English and Korean, with the same places; readers get the language they prefer."""

import re
from string import Formatter

import pytest

from domain.values.words import LANGUAGES, catalogue, of_environment, preferred, words

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
