"""Refusals as sentences for readers: built from code and parameters, never from their English text."""

from collections.abc import Mapping
from typing import Any, Final

from domain.values.sentences import Sentence, from_wire, in_language, recognized
from domain.values.words import Language, Words
from domain.values.words import words as of_rooms

_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": ("kind",),
    "status": ("status", "session_state"),
    "state": ("status", "session_state"),
    "actions": ("verb",),
    "choice": ("choice",),
    "choices": ("choice", "listed"),
    "reason": ("amount",),
    "fields": ("amount",),
}
"""The groups of names for the value of a parameter."""


def in_words(say: Words, text: str) -> str:
    """The sentence in the reader's language; a plain text as it is, but for lines that Hansard wrote into it."""
    text = recognized(text)
    if say.language == "en":  # English sentences hold the values as the API has them
        return in_language(text, "en")
    return in_language(text, say.language, lambda place, value: _name(say, _GROUPS.get(place, ()), value))


def told_in(say: Words, problem: Mapping[str, Any]) -> dict[str, Any]:
    """A problem document (RFC 9457) with its sentences in the reader's language."""
    if say.language == "en":
        return dict(problem)
    errors = [{**error, "detail": _worded(say, error)} for error in problem.get("errors", ())]
    if errors:
        fields = (": ".join(part for part in (e["pointer"].lstrip("/"), e["detail"]) if part) for e in errors)
        return {**problem, "errors": errors, "detail": "; ".join(fields)}
    return {**problem, "detail": _with_allowed(say, problem)} if "detail" in problem else dict(problem)


def _worded(say: Words, problem: Mapping[str, Any]) -> str:
    return in_words(say, from_wire(problem["detail"], problem.get("code"), problem.get("params")))


def _with_allowed(say: Words, problem: Mapping[str, Any]) -> str:
    allowed = problem.get("allowed")
    sentence = _worded(say, problem)
    if not allowed or "code" not in problem:
        return sentence
    return f"{sentence} {in_words(say, Sentence('allowed_now', actions=allowed))}"


def _name(say: Words, groups: tuple[str, ...], value: str) -> str:
    names = (say.of(group, value) for group in groups)
    return next((name for name in names if name != value), value)


# The words of the page: its own, and the names of what is recorded.

ROOMS: Final = ("projections.record", "api.web")


def words(language: Language) -> Words:
    """Everything that the page says, in one language."""
    return of_rooms(language, *ROOMS)
