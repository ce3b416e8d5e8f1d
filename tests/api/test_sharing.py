"""Ten tabs of one session cost little more than one: concurrent requests share one computation."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from api.web.session.panels import LONGEST, MOST, Shared
from domain.values.base import Unknown


class Making:
    """Counts computations, and delays them until all requests have arrived."""

    def __init__(self, answer: str = "answer") -> None:
        self.count, self._answer, self.asked = 0, answer, threading.Event()

    def __call__(self) -> str:
        assert self.asked.wait(5)
        self.count += 1
        return self._answer


def asked(*questions: tuple[int, str], make: Callable[[], str], at_once: bool = True) -> list[str | BaseException]:
    """The answers to (head, key), requested together or one after another."""

    async def scene() -> list[str | BaseException]:
        shared = Shared()
        calls = [shared.of((0, head), key, make) for head, key in questions]
        if at_once:
            return await asyncio.gather(*calls, return_exceptions=True)
        return [(await asyncio.gather(call, return_exceptions=True))[0] for call in calls]

    return asyncio.run(scene())


@pytest.mark.parametrize(
    ("questions", "made"),
    [
        pytest.param([(5, "a")] * 10, 1, id="ten tabs"),
        pytest.param([(5, "a"), (5, "b"), (5, "a")], 2, id="another question"),
        pytest.param([(5, "a"), (6, "a"), (6, "a")], 2, id="the log has moved"),
        pytest.param([(6, "a"), (5, "a"), (5, "a"), (6, "a")], 3, id="who is behind is not kept for"),
        pytest.param([(5, str(key)) for key in range(MOST + 5)] * 2, MOST + 10, id="more than are kept"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_same_question_is_computed_once_while_the_log_is_unchanged(
    questions: list[tuple[int, str]], made: int, at_once: bool
) -> None:
    making = Making()
    making.asked.set()
    assert asked(*questions, make=making, at_once=at_once) == ["answer"] * len(questions)
    assert making.count == made


def test_a_long_answer_is_not_held_on_to() -> None:
    making = Making("x" * (LONGEST + 1))
    making.asked.set()
    asked((5, "a"), (5, "a"), make=making, at_once=False)
    assert making.count == 2


def test_failure_reaches_all_waiters_and_is_retried() -> None:
    tries: list[int] = []

    def fail() -> str:
        tries.append(1)
        raise Unknown("nobody")

    result = asked((5, "a"), (5, "a"), make=fail, at_once=False)
    assert [str(error) for error in result] == ["nobody", "nobody"]
    assert tries == [1, 1]


def test_leaving_client_does_not_cancel_shared_work() -> None:
    making = Making()

    async def scene() -> str:
        shared = Shared()
        first = asyncio.create_task(shared.of((0, 5), "a", making))
        second = asyncio.create_task(shared.of((0, 5), "a", making))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        making.asked.set()
        return await second

    assert asyncio.run(scene()) == "answer"
    assert making.count == 1
