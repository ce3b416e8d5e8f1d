"""Words for a wrong command line, in the terminal's language: what was typed, and what is expected instead."""

import difflib
import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from cyclopts import CycloptsError, MissingArgumentError, ValidationError
from cyclopts.annotations import resolve_optional
from cyclopts.exceptions import (
    CoercionError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)
from cyclopts.validators import Number

from api.cli.labels import sentence

if TYPE_CHECKING:
    from cyclopts.argument import Argument


def misuse(error: CycloptsError, commands: Collection[str], typed: Sequence[str]) -> str:
    """The mistake in one sentence, and what to type; the library's own words for kinds that are not known here."""
    match error:
        case UnknownCommandError():
            [word, *_] = error.unused_tokens or [""]
            moved = next((each for each in typed if each in commands), None) if word.startswith("-") else None
            if moved is not None:
                return sentence(
                    "{option} comes after the command: hansard {command} {option}.", option=word, command=moved
                )
            unknown = "Unknown option: {word}." if word.startswith("-") else "Unknown command: {word}."
            return sentence(unknown, word=word) + _did_you_mean(word, commands)
        case UnknownOptionError():
            word = error.token.keyword or error.token.value
            names = [name for each in error.argument_collection for name in each.names if name.startswith("-")]
            if word.partition("=")[0] in names:  # only so is it unknown
                return sentence("{option} comes before --: what follows that is no option.", option=word)
            return sentence("Unknown option: {word}.", word=word) + _did_you_mean(word, names)
        case UnusedCliTokensError():
            return _left_over(" ".join(error.unused_tokens or ()), typed)
        case RepeatArgumentError() if error.msg is None:
            return sentence("{option} is given more than once.", option=error.token.keyword)
        case MissingArgumentError() if error.argument:
            return _missing(error, error.argument)
        case CoercionError() if error.msg is None and error.token and error.argument:
            return _not_that_type(error.token.value, error.token.keyword or _label(error.argument), error.target_type)
        case ValidationError() if error.argument:
            return _out_of_bounds(error, error.argument)
        case _:
            return str(error)


def _left_over(words: str, typed: Sequence[str]) -> str:
    """The words that fit nowhere, and for a task the option that it needs."""
    if next(iter(typed), "") != "run":
        return sentence("Not expected: {words}.", words=words)
    return sentence(
        "Not expected: {words}. The task needs its option: hansard run -t {task}", words=words, task=shlex.quote(words)
    )


def _missing(error: MissingArgumentError, argument: "Argument") -> str:
    keywords = (token.keyword for token in reversed(argument.tokens) if token.keyword)
    typed = error.keyword or next(keywords, None)
    if typed is not None:
        return sentence("{option} needs a value.", option=typed)
    return sentence("{option} is missing.", option=_label(argument))


def _not_that_type(value: str, option: str, type_: Any) -> str:
    type_ = resolve_optional(type_)
    if get_origin(type_) is Literal:
        names = [str(each) for each in get_args(type_)]
        choices = ", ".join(names)
        problem = sentence("{option}: {value!r} is not one of {choices}.", option=option, value=value, choices=choices)
        return problem + _did_you_mean(value, names)
    if type_ is int:
        return sentence("{option}: {value!r} is not a whole number.", option=option, value=value)
    if type_ is float:
        return sentence("{option}: {value!r} is not a number.", option=option, value=value)
    return sentence("{option}: {value!r} is not a valid value.", option=option, value=value)


def _out_of_bounds(error: ValidationError, argument: "Argument") -> str:
    token = next(iter(argument.tokens), None)
    option = (token.keyword if token else None) or _label(argument)
    value: Any = argument.value
    validators = argument.parameter.validator
    checks = validators if isinstance(validators, tuple) else ()
    bounds = next((each for each in checks if isinstance(each, Number)), None)
    least = None if bounds is None else bounds.gte if bounds.gt is None else bounds.gt + 1  # only of whole numbers
    if least is not None:
        return sentence(
            "{option}: {value} is too small; the minimum is {least}.", option=option, value=value, least=least
        )
    if isinstance(value, Path):
        what = "{option}: {path} does not exist."
        if value.exists():
            what = "{option}: {path} is a folder." if value.is_dir() else "{option}: {path} is not a folder."
        return sentence(what, option=option, path=value)
    return f"{option}: {error.exception_message}"


def _label(argument: "Argument") -> str:
    """The option as it is typed; a positional argument as its command's help calls it."""
    return (
        argument.name if argument.name.startswith("-") and argument.index is None else argument.name.lstrip("-").upper()
    )


def _did_you_mean(word: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(names), n=1, cutoff=0.6)
    return " " + sentence("Did you mean {word}?", word=close[0]) if close else ""
