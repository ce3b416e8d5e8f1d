"""What a person answers at the terminal."""

import pytest

from api.cli.asking import TypedAnswer, parse_answer

REVIEW, DEBATE = ["apply_fix", "skip"], ["revise", "accept"]


@pytest.mark.parametrize(
    ("line", "choices", "answer"),
    [
        ("a\n", REVIEW, TypedAnswer("apply_fix", "")),
        ("apply\n", REVIEW, TypedAnswer("apply_fix", "")),
        ("Apply-Fix  그래서 그렇다 \n", REVIEW, TypedAnswer("apply_fix", "그래서 그렇다")),
        ("s not now\n", REVIEW, TypedAnswer("skip", "not now")),
        ("a\n", DEBATE, TypedAnswer("accept", "")),
        ("R\n", DEBATE, TypedAnswer("revise", "")),
        ("x\n", REVIEW, None),
        ("skipped\n", REVIEW, None),
        ("\n", REVIEW, None),
        ("s\n", ["skip", "stop"], None),
    ],
)
def test_the_beginning_of_a_choice_is_enough_and_the_rest_is_the_reason(
    line: str, choices: list[str], answer: TypedAnswer | None
) -> None:
    assert parse_answer(line, choices) == answer
