"""What agents' answers have in common: closed types, limits, and the sentence that says what does not fit."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictStr, ValidationError
from pydantic_core import ErrorDetails

from domain.replies.extraction import Object
from domain.values.base import Unreadable, Value
from domain.values.strict import JSON

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
        raise ValueError("should not be blank")
    return value


def in_any_case(words: tuple[str, ...]) -> Callable[[object], object]:
    """Reads one of a closed list of words in upper or lower case and with blanks around it: our own prompts write
    `critical` and CRITICAL. What is none of them stays as it is.
    """
    spelled = {word.lower(): word for word in words}

    def normalize(value: object) -> object:
        return spelled.get(value.strip().lower(), value) if isinstance(value, str) else value

    return normalize


def absent(value: object) -> bool:
    """Whether an optional field was left out, and is therefore missing from the JSON."""
    return value is None


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
    misfit."""
    try:
        return model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        pointer = "".join(f"/{str(part)[:60]}" for part in first["loc"])
        place = f" at {pointer}" if pointer else ""
        raise Unreadable(f"The {name} does not fit{place}: {worded(first)}.") from None


def wire(value: Value) -> JSON:
    """The value in the contract's format."""
    dumped: JSON = value.model_dump(mode="json", by_alias=True)
    return dumped


_SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "missing": "is missing",
        "string_type": "should be a text",
        "bool_type": "should be true or false",
        "int_type": "should be a whole number",
        "tuple_type": "should be a list",
        "model_type": "should be an object",
        "literal_error": "should be {expected}",
        "greater_than_equal": "should be at least {ge}",
        "less_than_equal": "should be at most {le}",
        "string_too_long": "should have at most {max_length} characters",
        "too_long": "should have at most {max_length} entries",
        "too_short": "should have at least {min_length} entries",
        "value_error": "{error}",
    }
)
"""By pydantic's error types; the parameters in braces come with the error."""


def worded(error: ErrorDetails) -> str:
    """`should have at least 1 entry`: without a capital letter, a full stop, or the input."""
    sentence = _SENTENCES.get(error["type"], "is not what was asked for").format_map(error.get("ctx", {}))
    return sentence.replace(" 1 entries", " 1 entry").replace(" 1 characters", " 1 character")
