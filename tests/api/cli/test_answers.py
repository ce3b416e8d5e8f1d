"""What a person answers at the terminal."""

import pytest

from api.cli.watch import Answer, parse_answer

REVIEW, DEBATE = ["apply_fix", "skip"], ["revise", "accept"]


@pytest.mark.parametrize(
    ("line", "choices", "answer"),
    [
        ("a\n", REVIEW, Answer("apply_fix", "")),
        ("apply\n", REVIEW, Answer("apply_fix", "")),
        ("Apply-Fix  그래서 그렇다 \n", REVIEW, Answer("apply_fix", "그래서 그렇다")),
        ("s not now\n", REVIEW, Answer("skip", "not now")),
        ("a\n", DEBATE, Answer("accept", "")),
        ("R\n", DEBATE, Answer("revise", "")),
        ("x\n", REVIEW, None),
        ("skipped\n", REVIEW, None),
        ("\n", REVIEW, None),
        ("s\n", ["skip", "stop"], None),
    ],
)
def test_the_beginning_of_a_choice_is_enough_and_the_rest_is_the_reason(
    line: str, choices: list[str], answer: Answer | None
) -> None:
    assert parse_answer(line, choices) == answer
