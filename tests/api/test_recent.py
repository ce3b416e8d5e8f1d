"""Caches of a limited size."""

from collections import OrderedDict

from api.node.recent import Recent, remember


def test_cache_drops_the_least_recently_used_entry() -> None:
    cache: OrderedDict[str, int] = OrderedDict()
    for number, name in enumerate("abac", start=1):
        assert remember(cache, name, number, most=2) == number
    assert list(cache.items()) == [("a", 3), ("c", 4)]


def test_an_answer_is_made_once_until_it_is_forgotten() -> None:
    made: list[str] = []
    recent: Recent[str] = Recent(2)
    for question in ("a", "b", "a", "c", "a", "b"):
        assert recent.of(question, lambda question=question: made.append(question) or question) == question
    assert made == ["a", "b", "c", "b"]
