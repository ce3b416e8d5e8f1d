"""Which commands may validate: by the words that they begin with."""

import pytest

from domain.delivery.validation import is_allowed, only, prefixes

LISTED = prefixes("pytest, python -m pytest,npm test,'my tool' \"a b\",")


def test_a_list_is_read_as_one_would_type_it() -> None:
    assert LISTED == (("pytest",), ("python", "-m", "pytest"), ("npm", "test"), ("my tool", "a b"))
    assert only(LISTED) == (
        "only commands that begin with `pytest`, `python -m pytest`, `npm test`, `'my tool' 'a b'` are allowed here"
    )


@pytest.mark.parametrize(
    ("argv", "allowed"),
    [
        (["pytest"], True),
        (["pytest", "-q", "; rm"], True),
        (["python", "-m", "pytest", "tests"], True),
        (["npm", "test", "--", "--ci"], True),
        (["my tool", "a b"], True),
        (["python", "-m"], False),
        (["python", "-c", "pytest"], False),
        (["npm", "tests"], False),
        (["npm"], False),
        (["./pytest"], False),
        (["pytest-3"], False),
        (["env", "pytest"], False),
        (["make"], False),
    ],
)
def test_a_command_must_begin_with_listed_words(argv: list[str], allowed: bool) -> None:
    assert is_allowed(argv, LISTED) is allowed


@pytest.mark.parametrize("listed", ["", " , ,"])
def test_without_a_list_every_command_is_allowed(listed: str) -> None:
    assert prefixes(listed) == ()
    assert is_allowed(["rm", "-rf", "/"], prefixes(listed))


def test_a_list_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="should be commands with commas between them: No closing quotation"):
        prefixes("pytest,'npm test")
