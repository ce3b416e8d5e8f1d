"""The subject of an agent's commit says what the task was, whatever the agent said."""

import pytest

from adapters.turns.result.commit_message import commit_message
from domain.session.turns import TurnRequested
from domain.values.base import Text
from tests.kit.stories import DeliveryStory


def subject_of(task: str | None) -> str:
    context = {} if task is None else {"task": Text.of(task)[0]}
    request = TurnRequested(
        message="Asked.", turn_id="d.t1", work="ask", agent="Ada", role="dev", context=context, prompt="dev@1"
    )
    return commit_message(request, DeliveryStory().delivery, None).split("\n")[0]


@pytest.mark.parametrize(
    ("task", "subject"),
    [
        ("Add a --version flag", "Add a --version flag"),
        ("\n\n# Fix the basket\n\nIt forgets prices.", "Fix the basket"),
        ('{"goal": "x"}\nMend it', "Mend it"),
        ("word " * 40, f"{('word ' * 15)[:71].rstrip()}…"),
        (None, "Changes by Ada"),
        ("```", "Changes by Ada"),
    ],
)
def test_the_subject_is_the_first_line_of_the_task(task: str | None, subject: str) -> None:
    assert subject_of(task) == subject
