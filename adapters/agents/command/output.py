"""Parses a program's untrusted output strictly: the text, the session id, the cost and the error."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from adapters.agents.command.settings import Pick, UsagePaths
from adapters.agents.figures import amount, counted, summed
from domain.values.base import Usage

MESSAGES = 100_000
"""Only this many JSON messages, the last ones, are parsed."""

LONGEST_NAME = 200
"""Maximum length of a model's name."""

Message = dict[str, Any]  # JSON of an external program


def messages(stdout: str) -> Sequence[Message]:
    """The JSON objects of an output: all of it, one per line among other lines, or one at its end."""
    whole = _decoded(stdout)
    if whole is not None:
        return _objects(whole)
    lines = deque(_lines(stdout), maxlen=MESSAGES)
    if lines:
        return lines
    start = 0 if stdout.startswith("{") else stdout.rfind("\n{") + 1
    return _objects(_decoded(stdout[start:]))


def text_of(output: Iterable[Message], pick: Pick) -> str | None:
    """The text at this path; an object or a list (structured output) as JSON; None if there is nothing."""
    values = [_words(value) for value in _values(output, pick) if isinstance(value, (str, dict, list))]
    if not values:
        return None
    return "".join(values) if pick.every else values[-1]


def error_of(output: Sequence[Message], picks: Sequence[Pick] | None) -> str | None:
    """The error that the program reports: the values at the paths. Null, false and empty values are ignored."""
    errors = [[value for value in _values(output, pick) if value] for pick in picks or ()]
    return ": ".join(_error_words(values[-1]) for values in errors if values) or None


def _error_words(value: object) -> str:
    """Several errors are several sentences."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return _words(value)


def usage_of(output: Sequence[Message], paths: UsagePaths | None) -> Usage:
    """The reported cost. Negative numbers, and what is no number, count as unknown."""
    if paths is None:
        return Usage()
    cost = _number(output, paths.cost_micros)
    dollars = _number(output, paths.cost_usd)
    input_tokens, output_tokens = _number(output, paths.input_tokens), _number(output, paths.output_tokens)
    total, reasoned = _number(output, paths.total_tokens), _number(output, paths.reasoning_tokens)
    if (
        input_tokens is not None
        and output_tokens is not None
        and total is not None
        and total >= input_tokens + output_tokens
    ):
        output_tokens, reasoned = total - input_tokens, total - input_tokens - output_tokens
    return Usage(
        input_tokens=counted(input_tokens),
        cached_tokens=counted(_number(output, paths.cached_tokens)),
        output_tokens=counted(output_tokens),
        reasoning_tokens=counted(reasoned),
        cost_micros=counted(cost if dollars is None else dollars * 1_000_000),
    )


def model_of(output: Iterable[Message], paths: UsagePaths | None) -> str | None:
    """The last model that the program names; implausible names are ignored."""
    if paths is None or paths.model is None:
        return None
    names = [value.strip() for value in _values(output, paths.model) if isinstance(value, str)]
    plausible = [name for name in names if 0 < len(name) <= LONGEST_NAME and name.isprintable()]
    return plausible[-1] if plausible else None


def has_final(output: Iterable[Message], final: str | None) -> bool:
    """True if the message that completes an answer has arrived."""
    return final is None or any(message.get("type") == final for message in output)


def _decoded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return None


def _objects(value: object) -> Sequence[Message]:
    values = value[-MESSAGES:] if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict)]


def _lines(stdout: str) -> Iterable[Message]:
    for line in stdout.split("\n"):  # JSON strings may contain what else Python considers the end of a line
        value = _decoded(line) if line.startswith("{") else None
        if isinstance(value, dict):
            yield value


def _values(output: Iterable[Message], pick: Pick) -> Iterable[Any]:
    for message in output:
        if any(not _same(_at(message, path), wanted) for path, wanted in pick.where.items()):
            continue
        value = _at(message, pick.path)
        if value is not None:
            yield value


def _words(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _same(value: object, wanted: object) -> bool:
    """Equal and of the same type: 1 is not true."""
    return type(value) is type(wanted) and value == wanted


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _number(output: Sequence[Message], picks: Sequence[Pick] | None) -> float | None:
    """The sum of the numbers at these paths. A path without a number adds nothing; without any, the sum is unknown."""
    numbers = [number for pick in picks or () if (number := _one_number(output, pick)) is not None]
    return sum(numbers) if numbers else None


def _one_number(output: Sequence[Message], pick: Pick) -> float | None:
    values = [number for value in _values(output, pick) if (number := amount(value)) is not None]
    if not values:
        return None
    return sum(values) if pick.every else values[-1]


# Counters of a whole conversation, and what one turn added to them.


def plus(one: Usage, other: Usage) -> Usage:
    """The sum of both; a field that neither has stays unknown."""
    first, second = one.model_dump(), other.model_dump()
    both = {name: summed(first[name], second[name]) for name in first}
    return Usage.model_validate(both)
