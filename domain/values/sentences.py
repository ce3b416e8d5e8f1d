"""Error sentences for people: a code, its parameters, and one catalogue for all languages.

A `Sentence` is its English text, so it can be raised, logged and compared like any other text. It keeps its code and
parameters: JSON carries them, and `in_language` translates them. No text is ever parsed. A plain text that is not a
`Sentence` is shown as it is.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from typing import Any, Self

from pydantic_core import CoreSchema, ErrorDetails, core_schema
from typing_extensions import TypedDict

from domain.values.words import Language, catalogue, with_particles

Param = object
"""A text, a number, a list of texts, or a sentence inside the sentence."""
Naming = Callable[[str, str], str]
"""The display name of a value: `("status", "running")` → "실행 중"."""

_ROOM = "domain.values"
_LIMITS = {
    **dict.fromkeys(("ge", "gt", "le", "lt", "min_length", "max_length"), "number"),
    "expected": "choices",
}
"""Pydantic's names for limits, and ours."""


def _as_recorded(_: str, value: str) -> str:
    return value


class SentenceData(TypedDict):
    """A sentence of Hansard: its English text, its code, and the parameters of the code."""

    text: str
    code: str
    params: dict[str, Any]


class Sentence(str):
    """`Sentence("session_not_found", id="x")` is "There is no session 'x'."; raises KeyError for an unknown code.

    The parameters `before` and `after` hold sentences around it. `where` and `article` are made of status and kind.
    """

    __slots__ = ("code", "params")
    code: str
    params: Mapping[str, Param]

    def __new__(cls, code: str, /, **params: Param) -> Self:
        plain = {name: _plain(value) for name, value in params.items()}
        texts = {name: _text(value) for name, value in plain.items()}
        return cls._made(_worded("en", code, texts, _as_recorded), code, plain)

    @classmethod
    def foreign(cls, text: str, code: str, /, **params: Param) -> Self:
        """A sentence whose text is not in the catalogue: it comes from a library, or is fixed for compatibility."""
        return cls._made(text, code, {name: _plain(value) for name, value in params.items()})

    @classmethod
    def _made(cls, text: str, code: str, params: Mapping[str, Param]) -> Self:
        made = super().__new__(cls, text)
        made.code, made.params = code, params
        return made

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> CoreSchema:
        """Events and states keep it as `SentenceData`."""
        data = handler.generate_schema(SentenceData)
        made = core_schema.no_info_after_validator_function(of_data, data)
        return core_schema.json_or_python_schema(
            json_schema=made,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), made]),
            serialization=core_schema.plain_serializer_function_ser_schema(_data_of, return_schema=data),
        )

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[str, str, dict[str, Param]]]:
        """Copies keep their text: not every sentence is worded from the catalogue."""
        return type(self)._made, (str(self), self.code, dict(self.params))


def of_data(data: SentenceData) -> Sentence:
    """The sentence that an event has as data."""
    return Sentence._made(data["text"], data["code"], _all_unwired(data["params"]))


def _data_of(sentence: object) -> dict[str, object]:
    if not isinstance(sentence, Sentence):
        raise TypeError("a plain text has no code")
    return {"text": str(sentence), **wire(sentence)}


def coded(text: str | None) -> Sentence | None:
    """The text if it is a sentence with a code; None for any other."""
    return text if isinstance(text, Sentence) else None


def packed(text: str | None) -> str | None:
    """The sentence as JSON, for the column of a table; None for a text without a code."""
    return json.dumps(_data_of(text), ensure_ascii=False) if isinstance(text, Sentence) else None


def because(sentence: Sentence, detail: str) -> Sentence:
    """A sentence, and a text from elsewhere that explains it: `The program ended with exit code 1: no disk`."""
    if not detail:
        return sentence
    text = f"{str(sentence).rstrip('.')}: {detail}"
    return Sentence.foreign(text, "sentence_and_detail", sentence=sentence, detail=detail)


def at_place(place: str, sentence: str) -> Sentence:
    """`team.toml: agent 'Ada': roles: is missing`."""
    return Sentence("at_place", place=place, sentence=sentence)


def at_places(problems: Iterable[tuple[str, str]]) -> Sentence:
    """One sentence for one or more places and what is wrong there."""
    return reduce(
        lambda first, second: Sentence("several_problems", first=first, second=second),
        (at_place(place, sentence) for place, sentence in problems),
    )


def with_output(sentence: Sentence, output: str) -> Sentence:
    """A sentence and, on the next lines, the output of a program."""
    text = f"{sentence}\n{output}".strip()
    return Sentence.foreign(text, "sentence_and_detail", sentence=sentence, detail=output) if output else sentence


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied to it; in a sentence, to the texts among its parameters too."""
    if not isinstance(text, Sentence):
        return change(text)
    params = {name: _rewritten(value, change) for name, value in text.params.items()}
    return Sentence.foreign(change(str(text)), text.code, **params)


def _rewritten(value: Param, change: Callable[[str], str]) -> Param:
    match value:
        case str():
            return rewritten(value, change)
        case list():
            return [_rewritten(each, change) for each in value]
        case _:
            return value


def as_sentences(texts: Sequence[str], sentences: Sequence[Sentence | None]) -> tuple[Sentence | str, ...]:
    """Each text as its sentence, if there is one."""
    coded_ones = (*sentences, *(None,) * len(texts))
    return tuple(sentence or text for text, sentence in zip(texts, coded_ones, strict=False))


def recognized(text: str) -> str:
    """The text with the lines as sentences that Hansard itself has written into it, where an event has no other place
    for their codes. Whole lines are looked up; nothing is parsed."""
    if isinstance(text, Sentence) or not text:
        return text
    lines = [_recorded_line(line) for line in text.split("\n")]
    if not any(isinstance(line, Sentence) for line in lines):
        return text
    return reduce(lambda first, rest: Sentence.foreign(f"{first}\n{rest}", "two_lines", first=first, rest=rest), lines)


def _recorded_line(line: str) -> str:
    code = _recorded_codes().get(line)
    return line if code is None else Sentence(code)


@cache
def _recorded_codes() -> dict[str, str]:
    """The codes of the lines that are recorded without their code, by their English text."""
    return {both["en"]: code for code, both in catalogue(_ROOM).items() if code.startswith("recorded_")}


def sentence_of(error: Exception) -> str:
    """Returns what an error says, as a sentence if it is one."""
    return error.args[0] if error.args and isinstance(error.args[0], Sentence) else str(error)


def in_language(text: str, language: Language, name: Naming = _as_recorded) -> str:
    """The sentence in a language, with display names for its values; a plain text as it is."""
    if not isinstance(text, Sentence) or language not in catalogue(_ROOM).get(text.code, {}):
        return str(text)
    try:
        return _worded(language, text.code, text.params, name)
    except (KeyError, ValueError, TypeError):  # parameters of another version
        return str(text)


def wire(text: str) -> dict[str, object]:
    """`code` and `params` for JSON; nothing for a plain text."""
    if not isinstance(text, Sentence):
        return {}
    return {"code": text.code, "params": {key: _wired(value) for key, value in text.params.items()}}


def from_wire(text: str, code: object, params: object) -> str:
    """The sentence that `wire` described; the plain text if it described none."""
    if not isinstance(code, str) or not isinstance(params, dict):
        return text
    return Sentence._made(text, code, _all_unwired(params))


def of_pydantic(error: ErrorDetails) -> str:
    """Returns what a model found wrong: our sentence if one of our rules raised it, otherwise pydantic's by
    its type."""
    context = error.get("ctx", {})
    if error["type"] == "value_error":
        return sentence_of(context["error"])
    params = {_LIMITS.get(name, name): value for name, value in context.items()}
    return Sentence.foreign(error["msg"], error["type"], **params)


def _worded(language: Language, code: str, params: Mapping[str, Param], name: Naming) -> str:
    values = {place: _valued(language, place, value, name) for place, value in params.items()}
    before, after = values.pop("before", ""), values.pop("after", "")
    if "status" in values:
        status, state = values["status"], values.get("state", values["status"])
        values["where"] = status if status == state else f"{status} ({state})"
    if "kind" in values:
        values["article"] = "An" if str(values["kind"])[:1] in "aeiou" else "A"
    sentence = with_particles(catalogue(_ROOM)[code][language], values)
    return " ".join(str(part) for part in (before, sentence, after) if part)


def _valued(language: Language, place: str, value: Param, name: Naming) -> Param:
    match value:
        case Sentence():
            return in_language(value, language, name)
        case str():
            return name(place, value)
        case list():
            between = " " if place in ("before", "after") else ", "
            return between.join(str(_valued(language, place, each, name)) for each in value)
        case _:
            return value


def _plain(value: Param) -> Param:
    match value:
        case Exception():
            return sentence_of(value)
        case str() | int() | float():
            return value
        case list() | tuple() | set() | frozenset():
            return [_plain(each) for each in value]
        case _:
            return str(value)


def _text(value: Param) -> Param:
    """Sentences inside a sentence, found by their exact text."""
    match value:
        case Sentence():
            return str(value)
        case list():
            return [_text(each) for each in value]
        case _:
            return value


def _wired(value: Param) -> Param:
    match value:
        case Sentence():
            return {"text": str(value), **wire(value)}
        case list():
            return [_wired(each) for each in value]
        case _:
            return value


def _all_unwired(params: Mapping[str, Any]) -> dict[str, Param]:
    return {name: _unwired(value) for name, value in params.items()}


def _unwired(value: Param) -> Param:
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, dict) and isinstance(value.get("text"), str) and "code" in value and "params" in value:
        return from_wire(value["text"], value["code"], value["params"])
    return [_unwired(each) for each in value] if isinstance(value, list) else value
