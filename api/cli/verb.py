"""Commands that are declared apart from what carries them out, so that `hansard COMMAND --help` loads none of it."""

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import ParamSpec

P = ParamSpec("P")


def carried_out_by(place: str) -> Callable[[Callable[P, None]], Callable[P, int]]:
    """Declares a command that another function carries out: `module:name` in `api.cli`, with the same parameters. Its
    module is loaded when the command is called."""

    def declared(verb: Callable[P, None]) -> Callable[P, int]:
        @wraps(verb)
        def command(*args: P.args, **kwargs: P.kwargs) -> int:
            arguments = inspect.signature(verb).bind(*args, **kwargs)
            arguments.apply_defaults()
            return work_of(place)(*arguments.args, **arguments.kwargs)

        vars(command)["place"] = place
        return command

    return declared


def work_of(place: str) -> Callable[..., int]:
    """The function that a declaration names."""
    module, _, name = place.partition(":")
    work: Callable[..., int] = getattr(import_module(f"api.cli.{module}"), name)
    return work
