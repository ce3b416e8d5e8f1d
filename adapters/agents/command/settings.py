"""The settings of the adapters that call programs, `command` and `acp`. They are checked when the team file is read.

The `acp` adapter starts an agent that speaks the Agent Client Protocol.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from adapters.agents.failures import Rule, pattern
from adapters.agents.streams import Stream
from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.upstream import upstream_of
from adapters.fence.port import Grant, Level
from adapters.references import REFERENCES, web_address
from domain.values.base import Value
from domain.values.network import PROVIDER, HostEntry, Network, entries, entry
from domain.values.sentences import Sentence, at_place, sentence_of

PLACE = re.compile(r"\{([a-z_]+)\}")
PLACES = frozenset({"prompt", "prompt_file", "workspace", "home", "session", "agent", "role", "turn", "model"})
SPLICES = ("{access_args}", "{model_args}")
"""Placeholders that become several arguments, or none: depending on the access of the role, or on the model."""
IDLE_SECONDS = 300.0
"""The maximum silence of a program, unless the settings or the team file set another."""
_URL = re.compile(r"https?://[^\s\"'<>\\{}]+")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
_JSON_ONLY = ("text_path", "session_path", "error_path", "usage_paths", "require_final")


class Pick(Value):
    """A place in the program's JSON: a dotted path (`message.content.0.text`) into the last message that has it.
    `where` (path → value) filters the messages; `every` joins the texts, or adds the numbers, of all of them."""

    path: str = Field(min_length=1, max_length=200)
    where: dict[str, str | bool | int] = Field(default_factory=dict)
    every: bool = False


def _picked(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


def _listed_picks(value: object) -> object:
    return tuple(map(_picked, value)) if isinstance(value, list | tuple) else (_picked(value),)


Where = Annotated[Pick, BeforeValidator(_picked)]
Picks = Annotated[tuple[Pick, ...], BeforeValidator(_listed_picks), Field(min_length=1, max_length=20)]
Template = Annotated[tuple[str, ...], Field(max_length=256)]
Arguments = Annotated[tuple[str, ...], Field(max_length=100)]
Names = Annotated[tuple[str, ...], Field(max_length=20)]
Seconds = Annotated[float, Field(gt=0, le=604_800)]
Folders = Annotated[tuple[Annotated[str, Field(pattern=r"^(/|~/)")], ...], Field(max_length=50)]


class UsagePaths(Value):
    """The places where the program reports the cost of the turn, and the model. A figure is a path, or several paths to
    add up; money is in millionths or in dollars. The part of a total beyond input and output is reasoning.
    `cumulative`: the figures cover the whole conversation instead of the turn."""

    input_tokens: Picks | None = None
    cached_tokens: Picks | None = None
    output_tokens: Picks | None = None
    reasoning_tokens: Picks | None = None
    total_tokens: Picks | None = None
    cost_micros: Picks | None = None
    cost_usd: Picks | None = None
    model: Where | None = None
    cumulative: bool = False

    @model_validator(mode="after")
    def _one_currency(self) -> Self:
        if self.cost_micros and self.cost_usd:
            raise ValueError(Sentence("cost_twice"))
        return self


def _hosts_only(value: Network) -> Network:
    if isinstance(value, str) or PROVIDER in value:
        raise ValueError(Sentence("not_a_network"))
    return value


class ProgramSettings(Value):
    """The settings to start a program with, whatever it speaks. `CommandSettings` explains the fields."""

    argv: Template
    read_args: Arguments = ()
    write_args: Arguments = ()
    fenced_args: Arguments | None = None
    model_args: Arguments = ()
    model: str | None = None
    failures: Annotated[tuple[Rule, ...], Field(max_length=100)] = ()
    env: dict[str, str] = Field(default_factory=dict, max_length=200)
    keys: Names = ()
    addresses: Names = ()
    home: Literal["private", "user"] = "private"
    home_files: dict[str, str] = Field(default_factory=dict, max_length=100)
    network: Network = "all"
    provider: Annotated[Network, AfterValidator(_hosts_only)] = ()
    services: bool = False
    readable: Folders = ()
    writable: Folders = ()
    timeout_seconds: Seconds | None = None
    idle_seconds: Seconds | None = None
    output_bytes: Annotated[int, Field(gt=0, le=1_073_741_824)] | None = None

    def located(self) -> dict[str, str]:
        """Returns the addresses of the provider that are set here, by variable. They go with its keys: elsewhere the
        key of a gateway is of no use, and should not be seen. Raises ValueError for one that is no address, or holds a
        login."""
        addresses = self._locations()
        for name, url in addresses.items():
            try:
                web_address(url)
            except ValueError as error:
                raise ValueError(at_place(name, sentence_of(error))) from None
        return addresses

    def _locations(self) -> dict[str, str]:
        own = {name: os.environ.get(name, "").strip() for name in self.addresses if name not in self.env}
        return {name: url for name, url in own.items() if url}

    def named(self, model: str | None) -> Self:
        """The same settings with this model, unless they name one."""
        return self if self.model or not model else self.model_copy(update={"model": model})


class CommandSettings(ProgramSettings):
    """`argv` starts a conversation, `resume_argv` (with the placeholder `{agent_session}`) continues one.

    Placeholders are replaced literally and only once. The prompt goes to stdin if the template contains neither
    `{prompt}` nor `{prompt_file}`. `{access_args}` becomes `write_args` for a role that may change files, otherwise
    `read_args`; `{model_args}` becomes those arguments if a model is named. `home`: `private` is a separate HOME for
    each conversation, initially with `home_files`; `user` is the home of the account that runs the worker. `keys` are
    variables that contain a login (`NAME`, or `NAME=VARIABLE` if ours has another name): those that are set are passed
    on, and a private home needs at least one; `addresses` are variables that may hold the provider's address. Exit
    codes prove nothing: `require_final` is the `type` of the JSON message without which there is no answer; an answer
    that `error_text` matches as a whole is an error. Lines of plain text that `skip_lines` matches at their beginning
    are not part of the answer. `fenced_args` replace `read_args` and `write_args` inside bubblewrap, where the
    program's own sandbox cannot work. `questions`: `claude`: the program takes messages on stdin and asks for
    permission in lines of JSON, as Claude Code does with `--permission-prompt-tool stdio`; `codex`: it is Codex's app
    server, whose protocol covers the answer, usage, errors and the conversation. `readable` and `writable` name more
    files and folders for the program, `provider` the hosts that `"provider"` in `network` stands for; `services`: those
    of the repository run beside it.
    """

    resume_argv: Template | None = None
    model: (
        Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^-\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")] | None
    ) = None
    stdin: Literal["prompt", "none"] | None = None
    output: Literal["text", "json"] = "text"
    stream: Stream | None = None
    questions: Literal["claude", "codex"] | None = None
    text_path: Where | None = None
    session_path: Where | None = None
    error_path: Picks | None = None
    error_text: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(pattern)] | None = None
    skip_lines: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(pattern)] | None = None
    usage_paths: UsagePaths | None = None
    require_final: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self._check_questions()
        self._check_template("argv", self.argv, PLACES)
        if self.resume_argv is not None:
            self._check_template("resume_argv", self.resume_argv, PLACES | {"agent_session"})
        for name in ("read_args", "write_args", "model_args"):
            _check_places(name, getattr(self, name), PLACES)
        self._check_output()
        _check_environment({**dict.fromkeys((key.partition("=")[0] for key in self.keys), "env:"), **self.env})
        self._check_home()
        return self

    @property
    def resumes_by_id(self) -> bool:
        return self.questions == "codex" or "agent_session" in places(self.resume_argv or ())

    @property
    def takes_models(self) -> bool:
        """Returns whether a model that is chosen reaches the program."""
        return SPLICES[1] in self.argv or "model" in places(self.argv)

    def inside(self, level: Level) -> "CommandSettings":
        """The settings for a run in such a fence."""
        if self.fenced_args is None or level != "bwrap":
            return self
        return self.model_copy(update={"read_args": self.fenced_args, "write_args": self.fenced_args})

    def granted(self, grant: Grant, *own: Path) -> Grant:
        """The paths that the program may access: what the turn grants, its `own` folders, what the settings name."""
        named = (*self.argv, *(self.resume_argv or ()), *self.read_args, *self.write_args)
        files = tuple(Path(item) for item in named[1:] if item.startswith("/"))
        return replace(
            grant,
            readable=(*grant.readable, *files, *_expanded(self.readable)),
            writable=(*grant.writable, *own, *_expanded(self.writable)),
            network=self.reach(shared=grant.loopback not in (None, "machine")),
        )

    def reach(self, *, shared: bool = False) -> Literal["none", "all"] | Allowed:
        """Tells what the program may reach. `"provider"` stands for the hosts of its preset and the addresses in its
        settings, on this machine, too. In a network that it has `shared` with services, everything is reached through a
        proxy."""
        if shared and self.network == "all":
            return Allowed(self._addresses(), upstream_of(), everything=True)
        if isinstance(self.network, str):
            return self.network
        own = (*entries(self.provider), *self._addresses()) if PROVIDER in self.network else ()
        return Allowed((*entries(self.network), *own), upstream_of())

    def hosts(self) -> tuple[str, ...]:
        """The hosts that the program may reach, as people write them; empty without a list."""
        reach = self.reach()
        return tuple(dict.fromkeys(map(str, reach.entries))) if isinstance(reach, Allowed) else ()

    def _addresses(self) -> tuple[HostEntry, ...]:
        """The addresses that the settings name: in variables, arguments and files of the home."""
        env = (os.environ.get(value[4:], "") if value.startswith("env:") else value for value in self.env.values())
        texts = (*env, *self._locations().values(), *self.argv, *(self.resume_argv or ()), *self.home_files.values())
        return tuple(each for text in texts for url in _URL.findall(text) if (each := _entry_of(url)))

    def template(self, *, resumed: bool, writes: bool) -> Template:
        """The arguments of a turn, with their placeholders not yet replaced."""
        chosen = self.resume_argv if resumed and self.resume_argv else self.argv
        model = self.model_args if self.model else ()
        access = self.write_args if writes else self.read_args
        spliced = dict(zip(SPLICES, (access, model), strict=True))
        return tuple(argument for item in chosen for argument in spliced.get(item, (item,)))

    def prompt_on_stdin(self, template: Template) -> bool:
        return self.stdin == "prompt" or (self.stdin is None and not places(template) & {"prompt", "prompt_file"})

    def _check_template(self, name: str, items: Template, names: frozenset[str]) -> None:
        template = tuple(item for item in items if item not in SPLICES)
        _check_places(name, template, names)
        if (
            not template
            or not template[0]
            or places(template[:1])
            or ("/" in template[0] and not template[0].startswith("/"))
        ):
            raise ValueError(at_place(name, Sentence("not_a_program_name")))
        if self.stdin == "none" and not places(template) & {"prompt", "prompt_file"}:
            raise ValueError(at_place(name, Sentence("needs_prompt_place")))

    def _check_questions(self) -> None:
        """Before the other checks, so that a team file that calls `codex exec` under the preset gets this sentence."""
        calls = (self.argv, self.resume_argv or self.argv)
        if self.questions == "codex" and any("exec" in call and "app-server" not in call for call in calls):
            raise ValueError(Sentence("codex_needs_app_server"))
        if self.questions == "claude" and (self.output != "json" or self.stdin == "none"):
            raise ValueError(Sentence("claude_questions_need_json"))
        if self.questions == "codex" and (self.output == "json" or self.stream or self.stdin):
            raise ValueError(Sentence("codex_questions_set_output"))

    def _check_output(self) -> None:
        if self.output == "json" and self.text_path is None:
            raise ValueError(Sentence("json_needs_text_path"))
        if self.output == "json" and self.skip_lines is not None:
            raise ValueError(Sentence("needs_setting", name="skip_lines", other='output = "text"'))
        useless = [name for name in _JSON_ONLY if getattr(self, name) is not None]
        if self.output == "text" and useless:
            raise ValueError(Sentence("needs_setting", name=useless[0], other='output = "json"'))
        if "agent_session" in places(self.resume_argv or ()) and self.session_path is None:
            raise ValueError(Sentence("resume_needs_session_path"))

    def _check_home(self) -> None:
        if self.home_files and self.home == "user":
            raise ValueError(Sentence("needs_setting", name="home_files", other='home = "private"'))
        for name in self.home_files:
            if name.startswith("/") or "\0" in name or {"", ".", ".."} & set(name.split("/")):
                raise ValueError(Sentence("home_file_outside", path=name))


def _entry_of(url: str) -> HostEntry | None:
    """The host and the port that a person's settings name; None if no request can go there."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return entry(f"{host}:{port}").changed(anywhere=True)
    except ValueError:
        return None


def _expanded(paths: Folders) -> tuple[Path, ...]:
    return tuple(Path(path).expanduser() for path in paths)


def places(template: tuple[str, ...]) -> frozenset[str]:
    """The names between braces."""
    return frozenset(name for item in template for name in PLACE.findall(item))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced, only once, so that braces in a value stay as they are."""
    return PLACE.sub(lambda place: values.get(place[1], place[0]), text)


def _check_places(name: str, template: Template, names: frozenset[str]) -> None:
    unknown = places(template) - names
    if unknown:
        placeholder = f"{{{min(unknown)}}}"
        raise ValueError(at_place(name, Sentence("no_such_placeholder", given=placeholder, names=_names_text(names))))


def _check_environment(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not _ENV_NAME.fullmatch(name):
            raise ValueError(at_place("env", Sentence("not_a_variable_name", given=name)))
        if "\0" in value:
            raise ValueError(at_place(f"env: {name}", Sentence("contains_nul")))
        if _SECRET_NAME.search(name) and not value.startswith(REFERENCES):
            raise ValueError(at_place("env", Sentence("looks_like_a_secret", name=name)))


def _names_text(names: frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))
