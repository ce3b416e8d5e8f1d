"""The form that starts a session: its fields as data, filled from a preset or an address, and the command it equals."""

import json
import shlex
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from api.node.settings import MOST_ROUNDS
from api.web.presets import PRESETS
from domain.convergence.profiles import PROFILES
from domain.discussion.strategies import STRATEGIES
from domain.kinds import KINDS
from domain.values.budget import DEFAULT_ITERATIONS, DEFAULT_MINUTES

Reads = Literal["text", "lines", "number", "money", "people", "json", "switch"]
"""The way from what is typed to JSON: a line each for `lines`; `name:role` a line for `people`; dollars for `money`;
`{"enabled": true}` for a switch that is on, with the fields whose names begin with its own inside it."""
Values = Mapping[str, str]


class Field(NamedTuple):
    """A field of the form by its name in the API; `flag` is its option on the command line, none for an argument.

    `preset` is its initial value; `usual` is the meaning of an empty field."""

    name: str
    reads: Reads = "text"
    flag: str = ""
    area: bool = False
    required: bool = False
    least: int = 0
    most: int = 0
    limit: int = 0
    preset: str = ""
    usual: str = ""
    choices: tuple[str, ...] = ()
    named: str = ""

    @property
    def label(self) -> str:
        """The key of its message."""
        return self.named or self.name


class Form(NamedTuple):
    """The fields of one kind of session: those seen at once, and those folded away."""

    kind: str
    verb: str
    fields: tuple[Field, ...]
    more: tuple[Field, ...]


class Filled(NamedTuple):
    """A form as it is shown."""

    form: Form
    values: Values
    command: str
    presets: tuple[str, ...]
    open: bool
    errors: Values
    words: str

    @property
    def first_wrong(self) -> str:
        """The field to go to first."""
        return next((field.name for field in (*self.form.fields, *self.form.more) if field.name in self.errors), "")

    @property
    def unfolded(self) -> bool:
        """True if what is usually folded away has to be seen."""
        return any(field.name in self.errors for field in self.form.more) or bool(self.values["scenario"])


def _strategies(kind: str) -> tuple[str, ...]:
    """Only those that fit the kind (K-34)."""
    return tuple(strategy.name for strategy in STRATEGIES.values() if strategy.kind == kind)


def _wish(name: str, flag: str, kind: str) -> tuple[Field, Field]:
    """A switch, and the strategy that it is held by."""
    return (
        Field(name, "switch", flag),
        Field(f"{name}.strategy", choices=("", *_strategies(kind)), named="strategy"),
    )


def _talk(kind: str, rounds: int) -> tuple[Field, ...]:
    return (
        Field("strategy", flag="--strategy", choices=("", *_strategies(kind))),
        Field("maxRounds", "number", "--max-rounds", least=1, most=MOST_ROUNDS, usual=str(rounds)),
        Field("profile", flag="--profile", choices=tuple(PROFILES), preset="seed"),
    )


_LONGEST, _LARGEST = 65_536, 2**53
_WHERE = Field("workspace", flag="--workspace", limit=4_096)
_NAMED = (Field("title", flag="--title", limit=200), Field("labels", "lines", "--label", area=True, limit=2_000))
_SCRIPTED = Field("scenario", "json", "--scenario", area=True)
_COMMON = (*_NAMED, _WHERE, _SCRIPTED)
_DELIVERY = Form(
    "delivery",
    "run",
    (
        Field("task", flag="--task", area=True, required=True, limit=_LONGEST),
        _WHERE,
        Field("validationCommands", "lines", "--validate", area=True),
        Field("maxIterations", "number", "--max-iterations", least=1, most=20, preset=str(DEFAULT_ITERATIONS)),
        Field("maxMinutes", "number", "--max-minutes", least=1, most=180, preset=str(DEFAULT_MINUTES)),
        *_wish("review", "--review", "review"),
    ),
    (
        Field("filePaths", "lines", "--files", area=True),
        Field("testCommand", flag="--test", limit=_LONGEST),
        Field("fixes", flag="--fix", limit=200),
        Field("maxAttempts", "number", "--max-attempts", least=1, most=20),
        Field("maxTokens", "number", "--max-tokens", least=1, most=_LARGEST),
        Field("maxCostMicros", "money", "--max-cost", limit=20),
        *_NAMED,
        _SCRIPTED,
    ),
)
_ORCHESTRATION = Form(
    "orchestration",
    "orchestrate",
    (
        Field("prompt", area=True, required=True, limit=_LONGEST),
        _WHERE,
        Field("employees", "people", "--employee", area=True),
        Field("maxRounds", "number", "--max-rounds", least=1, most=50, preset="3"),
        Field("triage", flag="--triage", choices=("auto", "direct", "orchestrate"), preset="auto"),
        *_wish("planReview", "--plan-review", "debate"),
        *_wish("workReview", "--work-review", "review"),
    ),
    (Field("origin", flag="--origin", limit=200), *_NAMED, _SCRIPTED),
)
_REVIEW = Form(
    "review", "review", (Field("subject", area=True, required=True, limit=500_000), *_talk("review", 3)), _COMMON
)
_DEBATE = Form(
    "debate", "debate", (Field("plan", area=True, required=True, limit=500_000), *_talk("debate", 2)), _COMMON
)
FORMS: Final = MappingProxyType({form.kind: form for form in (_DELIVERY, _ORCHESTRATION, _REVIEW, _DEBATE)})
NAMES: Final = frozenset(field.name for form in FORMS.values() for field in (*form.fields, *form.more))
"""The names of all fields, as allowed in an address."""

assert set(FORMS) == set(KINDS), "every kind can be started"


def forms(values: Values, *, errors: Values = MappingProxyType({}), words: str = "") -> tuple[Filled, ...]:
    """Returns all four. `values` may name a `preset`, or a kind by `start` with what its fields hold; `errors` are what
    was wrong with them, `words` with the whole.

    Raises KeyError for a preset or kind that there is not.
    """
    preset = PRESETS[values["preset"]] if values.get("preset") else None
    kind = FORMS[preset.kind if preset else values.get("start") or "delivery"].kind
    held = values_of(FORMS[preset.kind], preset.body) if preset else values if values.get("start") else {}
    all_forms = tuple(_filled(form, held if form.kind == kind else {}, form.kind == kind) for form in FORMS.values())
    return tuple(each._replace(errors=errors, words=words) if each.open else each for each in all_forms)


def _filled(form: Form, held: Values, opened: bool) -> Filled:
    """A new form holds the defaults; a submitted one its values."""
    every = (*form.fields, *form.more)
    has_values = any(field.name in held for field in every)
    values = {field.name: held.get(field.name, "") if has_values else field.preset for field in every}
    fitting = tuple(name for name, preset in PRESETS.items() if preset.kind == form.kind)
    return Filled(form, values, command(form, values), fitting, opened, {}, "")


def values_of(form: Form, body: Mapping[str, Any]) -> dict[str, str]:
    """The values of the fields for a request body."""
    values = {field.name: _typed(field, body) for field in (*form.fields, *form.more)}
    return {name: value for name, value in values.items() if value}


def _typed(field: Field, body: Mapping[str, Any]) -> str:
    first, _, inner = field.name.partition(".")
    value = body.get(first)
    if value is None:
        return ""
    match field.reads:
        case "switch":
            return "on" if value["enabled"] else ""
        case "lines":
            return "\n".join(value)
        case "people":
            return "\n".join(f"{each['name']}:{each['role']}" for each in value)
        case "money":
            return f"{Decimal(value) / 1_000_000:f}"
        case "json":
            return json.dumps(value, ensure_ascii=False, indent=1)
        case _:
            return str(value.get(inner, "") if inner else value)


def command(form: Form, values: Values) -> str:
    """The command that starts the same session; a required field that is empty is shown as its name in capitals."""
    words: list[str] = []
    argument: list[str] = []
    scenario = ""
    for field in (*form.fields, *form.more):
        value = values[field.name].strip() or (field.name.upper() if field.required else "")
        if not value or value == field.preset or not (field.flag or field.required):
            continue
        if field.reads == "json":
            scenario = value
            words += [field.flag, "-"]
        elif field.flag:
            words += _option(field, value, values)
        else:
            argument = ["--", shlex.quote(value)] if value.startswith("-") else [shlex.quote(value)]
    line = " ".join(("hansard", form.verb, *words, *argument))
    return _with_stdin(line, scenario) if scenario else line


def _option(field: Field, value: str, values: Values) -> list[str]:
    match field.reads:
        case "switch":
            strategy = values.get(f"{field.name}.strategy", "")
            return [f"{field.flag}={shlex.quote(strategy)}" if strategy else field.flag]
        case "lines" | "people":
            lines = (line.strip() for line in value.splitlines())
            return [word for line in lines if line for word in (field.flag, shlex.quote(_one(field, line)))]
        case _:
            return [field.flag, shlex.quote(value)]


def _one(field: Field, line: str) -> str:
    """A bare comma would make two paths, commands or people of one; labels are never split."""
    return line if field.name == "labels" else line.replace(",", "\\,")


def _with_stdin(line: str, words: str) -> str:
    """The line, and what it reads from stdin; the mark that ends it is none of the lines."""
    mark = "SCENARIO"
    while mark in words.splitlines():
        mark += "_"
    return f"{line} <<'{mark}'\n{words}\n{mark}"
