"""Defines what agents' answers have in common: closed types, limits, and the sentence that says what does not fit."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictStr, ValidationError
from pydantic_core import ErrorDetails

from domain.replies.extraction import Object
from domain.values.base import Unreadable, Value
from domain.values.json import JSON
from domain.values.sentences import Sentence, sentence_of

LONGEST_STRING = 65_536
"""Maximum length of a string inside an answer."""

MOST_ENTRIES = 200
"""Maximum number of entries of a list inside an answer."""

M = TypeVar("M", bound=Value)
T = TypeVar("T")


class ReplyShape(Value):
    """A part of an agent's answer. Additional fields are ignored, and values are never converted."""

    model_config = ConfigDict(extra="ignore")


def _none_is_empty(value: object) -> object:
    return () if value is None else value


def _none_is_blank(value: object) -> object:
    return "" if value is None else value


def _not_blank(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError(Sentence("blank"))
    return value


def in_any_case(words: tuple[str, ...]) -> Callable[[object], object]:
    """Reads one of a closed list of words in upper or lower case and with blanks around it: our own prompts write
    `critical` and CRITICAL. What is none of them stays as it is.
    """
    spelled = {word.lower(): word for word in words}

    def normalize(value: object) -> object:
        return spelled.get(value.strip().lower(), value) if isinstance(value, str) else value

    return normalize


Words = Annotated[StrictStr, Field(max_length=LONGEST_STRING)]
MaybeWords = Annotated[Words, BeforeValidator(_none_is_blank)]
"""Missing and null become the empty string."""
SomeWords = Annotated[Words, BeforeValidator(_not_blank)]
"""At least one character that is not white space."""
Bool = StrictBool

Few = Annotated[tuple[T, ...], Field(max_length=MOST_ENTRIES)]
MaybeFew = Annotated[tuple[T, ...], Field(max_length=MOST_ENTRIES), BeforeValidator(_none_is_empty)]
"""Missing and null become the empty list."""


def fitted(model: type[M], data: Object, *, name: str) -> M:
    """The object as a value of that model, using only the names of the JSON fields. Raises `Unreadable` with the first
    misfit. `name` is the code of what the object is."""
    try:
        return model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        pointer = "".join(f"/{str(part)[:60]}" for part in first["loc"])
        code = "reply_misfit_at" if pointer else "reply_misfit"
        place = {"place": pointer} if pointer else {}
        raise Unreadable(Sentence(code, what=Sentence(name), detail=misfit(first), **place)) from None


def wire(value: Value) -> JSON:
    """The value in the contract's format."""
    dumped: JSON = value.model_dump(mode="json", by_alias=True)
    return dumped


_CODES: Mapping[str, str] = MappingProxyType(
    {
        "missing": "value_missing",
        "string_type": "should_be_text",
        "bool_type": "should_be_true_or_false",
        "int_type": "should_be_whole_number",
        "tuple_type": "should_be_list",
        "model_type": "should_be_object",
        "literal_error": "should_be_one_of_words",
        "greater_than_equal": "should_be_at_least",
        "less_than_equal": "should_be_at_most",
        "string_too_long": "too_many_characters",
        "too_long": "too_many_entries",
        "too_short": "entry_missing",
    }
)
"""Our codes for pydantic's error types."""
_LIMITS = ("ge", "le", "max_length")


def misfit(error: ErrorDetails) -> str:
    """`should have at least 1 entry`: without a capital letter, a full stop, or the input."""
    context = error.get("ctx", {})
    if error["type"] == "value_error":
        return sentence_of(context["error"])
    code = _CODES.get(error["type"], "not_asked_for")
    if words := context.get("expected"):
        *choices, last = words.replace(" or ", ", ").split(", ")
        return Sentence(code, choices=choices, last=last)
    limit = next((context[name] for name in _LIMITS if name in context), None)
    return Sentence(code) if limit is None else Sentence(code, number=limit)
