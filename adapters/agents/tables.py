"""Parses tables of a team file, and reports errors in the terms of the file."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from adapters.agents.scripted import Scenario
from adapters.files import Unfit, content, json_of
from domain.values.base import HansardError, Invalid, Value
from domain.values.sentences import Sentence, at_place, at_places, of_pydantic, sentence_of

AnyValue = TypeVar("AnyValue", bound=Value)
Loc = tuple[int | str, ...]
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class BadTeam(HansardError):
    """The team file cannot be used: which file, which agent, which field, and why."""


def parsed(kind: type[AnyValue], data: Mapping[str, Any], place: Callable[[Loc], str]) -> AnyValue:
    """The value, without conversions; otherwise one sentence for each of the first problems."""
    try:
        return kind.model_validate_json(orjson.dumps(data), strict=True)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:5]
        raise BadTeam(at_places((place(_spelled(problem)), _sentence(kind, problem)) for problem in problems)) from None
    except orjson.JSONEncodeError as error:
        raise BadTeam(at_place(place(()), str(error))) from None


def _spelled(problem: ErrorDetails) -> Loc:
    """The place of the problem, in the file's spelling; a missing key is reported by its field name."""
    loc = problem["loc"]
    if problem["type"] != "missing" or not isinstance(loc[-1], str):
        return loc
    return (*loc[:-1], _HUMP.sub("_", loc[-1]).lower())


def _sentence(kind: type[Value], problem: ErrorDetails) -> str:
    """The problem in the terms of the file."""
    match problem["type"], problem["loc"]:
        case "extra_forbidden", ("agents", int(), name) if name in kind.model_fields:
            return Sentence("key_of_the_team")
        case "extra_forbidden", ("agents", int(), _):
            return Sentence("no_such_key_of_an_agent")
        case "extra_forbidden", (_,) if kind.model_fields:
            return Sentence("no_such_key_among", choices=", ".join(sorted(kind.model_fields)))
        case "extra_forbidden", _:
            return Sentence("no_such_key")
        case "missing", _:
            return Sentence("value_missing")
        case _:
            return of_pydantic(problem)


def place_of(path: Path, data: Mapping[str, Any], loc: Loc) -> str:
    """File, agent by its name if it has one, and field."""
    if len(loc) < 2 or loc[0] != "agents" or not isinstance(loc[1], int):
        return f"{path}: {dotted(loc)}" if loc else str(path)
    entry = data["agents"][loc[1]]
    name = entry.get("name") if isinstance(entry, dict) else None
    agent = f"{path}: agent {name!r}" if isinstance(name, str) else f"{path}: agent {loc[1] + 1}"
    return f"{agent}: {dotted(loc[2:])}" if loc[2:] else agent


def dotted(loc: Loc) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


class ScriptedSettings(Value):
    """`scenario`: a JSON file, relative to the team file, or the scenario itself as a table."""

    scenario: str | dict[str, Any] | None = None


def scenario_of(path: Path, where: str, settings: Mapping[str, Any]) -> Scenario:
    """The script of an agent: from the file that the settings name, or from the table in them."""
    scenario = parsed(ScriptedSettings, settings, lambda loc: f"{where}: {dotted(('settings', *loc))}").scenario
    if scenario is None:
        return Scenario()
    where = f"{where}: settings.scenario"
    if isinstance(scenario, str):
        where = f"{where}: {scenario}"
    try:
        return Scenario.parse(json_of(content(path.parent / scenario)) if isinstance(scenario, str) else scenario)
    except Invalid as error:
        problems = error.errors.items()
        raise BadTeam(
            at_places((f"{where}: {place}" if place else where, detail) for place, detail in problems)
        ) from None
    except (Unfit, ValueError) as error:
        raise BadTeam(at_place(where, sentence_of(error))) from None
    except RecursionError:
        raise BadTeam(Sentence("nested_too_deeply", path=where)) from None
