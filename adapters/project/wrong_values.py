"""Words for a wrong value of `hansard.toml`, and for what is allowed there."""

from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from domain.values.sentences import Sentence, of_pydantic

_KINDS: Final = {
    "bool_type": "should_be_true_or_false",
    "int_type": "should_be_whole_number",
    "float_type": "should_be_a_number",
    "string_type": "should_be_string",
    "tuple_type": "should_be_list",
    "list_type": "should_be_list",
}
"""The sentences for a value of another type."""
_NUMBERS: Final = ("int_type", "float_type", "greater_than_equal", "less_than_equal")
"""What is found wrong with a value that should be a number within limits."""


def problem_of(model: type[BaseModel], problem: ErrorDetails) -> str:
    """Says what pydantic found wrong, with what is allowed in its place."""
    *tables, key = problem["loc"] or ("",)
    fields = _fields(model, tables)
    if problem["type"] == "extra_forbidden":
        return Sentence("unknown_key_among", choices=", ".join(fields)) if fields else Sentence("unknown_key")
    field = fields.get(str(key))
    if problem["type"] in _NUMBERS and field is not None and (limits := _limits(field)) is not None:
        return Sentence("should_be_from_to", number=limits[0], most=limits[1])
    code = _KINDS.get(problem["type"])
    return of_pydantic(problem) if code is None else Sentence(code)


def _fields(model: type[BaseModel], tables: list[int | str]) -> dict[str, FieldInfo]:
    """The keys of a table; none where the place is no table of its own."""
    for name in tables:
        field = _named(model).get(str(name))
        if field is None or not isinstance(field.annotation, type) or not issubclass(field.annotation, BaseModel):
            return {}
        model = field.annotation
    return _named(model)


def _named(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _limits(field: FieldInfo) -> tuple[int | float, int | float] | None:
    """The smallest and the largest number that a field takes; None where it has not both."""
    least, most = (_limit(field.metadata, name) for name in ("ge", "le"))
    return None if least is None or most is None else (least, most)


def _limit(metadata: list[Any], name: str) -> int | float | None:
    return next((getattr(each, name) for each in metadata if hasattr(each, name)), None)
