"""A repository's own settings: `hansard.toml`, as it is in the person's checkout, and the person's trust in it.

The settings are set-up, validation, defaults and scope. Next to them: how to write one, and what tests would load from
outside of a workspace.
"""

import hashlib
import os
import tempfile
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

import orjson
from pydantic import Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import ErrorDetails

from adapters.files import Unfit, content, private_folder
from adapters.project.defaults import Command, Defaults, Plain, TomlTable
from adapters.project.places import place_of
from adapters.project.service_tables import Name, Ports, Services
from adapters.project.trusted_files import digests_of, texts_of_team
from adapters.project.wrong_values import problem_of
from domain.delivery.validation import MOST_REPEATS, REPEAT_SECONDS, REPEATS
from domain.session.services import Service
from domain.session.validation import ValidationStep, commands
from domain.session.workspace import EVERYTHING, PathScope
from domain.values.base import HansardError
from domain.values.network import CommandNetwork
from domain.values.sentences import Sentence, at_places, sentence_of

NAME = "hansard.toml"


class BadProject(HansardError):
    """The file cannot be used: `places` maps file, line and key to what is wrong."""

    def __init__(self, places: Mapping[str, str]) -> None:
        super().__init__(at_places(places.items()))
        self.places = dict(places)


class WorkspaceSetup(TomlTable):
    """How a new workspace is prepared."""

    setup: tuple[Command, ...] = ()
    copy_paths: tuple[Plain, ...] = Field(default=(), alias="copy")
    link: tuple[Plain, ...] = ()
    env: dict[Name, str] = {}
    network: CommandNetwork = "all"
    ports: Ports = ()
    filters: bool = False

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        twice = [name for name in self.ports if name in self.env or self.ports.count(name) > 1]
        if twice:
            raise ValueError(Sentence("port_variable_twice", given=twice[0]))
        return self


class Validation(TomlTable):
    """The validation, if a request names none."""

    commands: tuple[Command, ...] = ()
    baseline: bool = True
    network: CommandNetwork = "none"
    clean_room: bool = True
    repeat: Annotated[int, Field(ge=0, le=MOST_REPEATS)] = REPEATS
    repeat_seconds: Annotated[float, Field(ge=0, le=86_400)] = REPEAT_SECONDS
    coverage: Annotated[Plain, Field(min_length=1, max_length=1_000)] | None = None


class Project(TomlTable):
    """The file. `digest` covers what only takes effect once the person trusts it."""

    workspace: WorkspaceSetup = WorkspaceSetup()
    validation: Validation = Validation()
    delivery: Defaults = Defaults()
    scope: PathScope = EVERYTHING
    service: Services = ()
    _team: str = PrivateAttr(default="")
    _files: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def files(self) -> Mapping[str, str]:
        """The files of the checkout that settings which need trust run, by path, with digests of their contents."""
        return self._files

    def with_files(self, checkout: Path) -> Self:
        """The same with the digests of these files. Blocks."""
        team = self.team_file(checkout)
        beside = (step for each in self.services() for step in (each.command, each.ready) if step is not None)
        steps = [*self.setup_steps(), *beside]
        commands = [word for step in steps for word in (step.command, *step.argv)]
        copy = self.model_copy()
        copy._team = self._team
        copy._files = digests_of(checkout, [*commands, *(texts_of_team(team) if team else ())])
        return copy

    def with_team(self, checkout: Path) -> Self:
        """The same with the digest of its team file, if that is in the checkout. Raises `BadProject`."""
        path = self.team_file(checkout)
        if path is None:
            return self
        if not path.is_file():
            raise BadProject({f"{NAME} [delivery] team": f"there is no file {path}"})
        copy = self.model_copy()
        if path.resolve().is_relative_to(checkout.resolve()):
            copy._team = hashlib.sha256(path.read_bytes()).hexdigest()
        return copy

    def team_file(self, checkout: Path) -> Path | None:
        """Path of the team file: relative to the checkout."""
        return checkout / Path(self.delivery.team).expanduser() if self.delivery.team else None

    @property
    def risky(self) -> dict[str, object]:
        """The settings that need trust, by key; false values need none."""
        risky: dict[str, object] = {
            "setup": self.workspace.setup,
            "env": self.workspace.env,
            "network": self.validation.network if self.validation.network != "none" else None,
            "team": (self.delivery.team, self._team) if self.delivery.team else None,
        }
        filters = {"filters": "on"} if self.workspace.filters else {}
        reach = {"setup_network": self.workspace.network} if self.workspace.setup and self._limits_setup else {}
        ignored = {"copy": self.workspace.copy_paths, "link": self.workspace.link}
        ignored = {name: paths for name, paths in ignored.items() if paths}
        files = {"files": dict(self._files)} if self._files else {}
        clean_room = {} if self.validation.clean_room else {"clean_room": "off"}
        services = {"services": [each.model_dump() for each in self.service]} if self.service else {}
        ports = {"ports": self.workspace.ports} if self.workspace.ports else {}
        return {**risky, **reach, **ignored, **files, **filters, **clean_room, **services, **ports}

    @property
    def _limits_setup(self) -> bool:
        return self.workspace.network != "all"

    @property
    def digest(self) -> str | None:
        """Digest of everything that needs trust; None if there is nothing to trust."""
        if not any(self.risky.values()):
            return None
        return hashlib.sha256(orjson.dumps(self.risky, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def untrusted(self) -> Self:
        """The same without what needs trust."""
        return self.model_copy(
            update={
                "workspace": self.workspace.model_copy(
                    update={"setup": (), "env": {}, "filters": False, "copy_paths": (), "link": (), "ports": ()}
                ),
                "service": (),
                "validation": self.validation.model_copy(update={"network": "none", "clean_room": True}),
                "delivery": self.delivery.model_copy(update={"team": None}),
            }
        )

    def environment(self, workspace: Path) -> dict[str, str]:
        """The variables of the file; values that start with `./` are relative to the workspace."""
        return {
            name: str(workspace / value[2:]) if value.startswith("./") else value
            for name, value in self.workspace.env.items()
        }

    def setup_steps(self) -> tuple[ValidationStep, ...]:
        return _steps(self.workspace.setup)

    def services(self) -> tuple[Service, ...]:
        """The services as a session records them."""
        return tuple(table.service() for table in self.service)

    def validation_steps(self) -> tuple[ValidationStep, ...]:
        return _steps(self.delivery.commands or self.validation.commands)


def load(checkout: Path) -> Project:
    """The settings of a checkout; the defaults if it has no file. Raises `BadProject` with file and line."""
    path = checkout / NAME
    if not path.is_file() or path.is_symlink():
        return Project()
    try:
        text = content(path)
        project = parse(text)
        _check_inside(project.workspace, checkout, text)
        return project.with_team(checkout).with_files(checkout)
    except Unfit as error:
        raise BadProject({NAME: sentence_of(error)}) from None


def _check_inside(setup: WorkspaceSetup, checkout: Path, text: str) -> None:
    """Raises `BadProject` where a link of the checkout makes `copy` or `link` lead out of it."""
    top = checkout.resolve()
    for key, paths in (("copy", setup.copy_paths), ("link", setup.link)):
        outside = [path for path in paths if not (checkout / path).resolve().is_relative_to(top)]
        if outside:
            raise BadProject({place_of(text, ("workspace", key), NAME): Sentence("leads_outside", path=outside[0])})


def parse(text: str) -> Project:
    """The settings in the text of the file. Raises `BadProject`."""
    try:
        table_data = tomllib.loads(text)
    except ValueError as error:
        raise BadProject({NAME: Sentence("toml_malformed", detail=error)}) from None
    except RecursionError:
        raise BadProject({NAME: Sentence("toml_nested_too_deeply")}) from None
    try:
        return Project.model_validate_json(orjson.dumps(table_data), strict=True)
    except orjson.JSONEncodeError as error:
        raise BadProject({NAME: str(error)}) from None
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:5]
        raise BadProject({place_of(text, problem["loc"], NAME): _sentence(problem) for problem in problems}) from None


def _steps(entries: tuple[Command, ...]) -> tuple[ValidationStep, ...]:
    """The commands, split like a shell would. Raises `Invalid`."""
    return commands(validation_commands=entries) if entries else ()


def _sentence(problem: ErrorDetails) -> str:
    if problem["loc"][:1] == ("forge",):
        return Sentence("forge_settings_not_here")
    return problem_of(Project, problem)


# Which settings of which repository a person trusts: nothing from a clone runs before that.

Policy = Literal["ask", "all"]


class Trust:
    """The trusted digests, one per checkout, in a private file. If the settings change, the person is asked again."""

    def __init__(self, file: Path, policy: Policy = "ask") -> None:
        self._file, self._policy = file, policy

    def covers(self, checkout: Path, project: Project) -> bool:
        """True if the project's settings may take effect."""
        if project.digest is None or self._policy == "all":
            return True
        entry = self._read().get(str(checkout.resolve()))
        return entry is not None and entry.get("digest") == project.digest

    def effective(self, checkout: Path, project: Project) -> Project:
        """The project with only its trusted settings."""
        return project if self.covers(checkout, project) else project.untrusted()

    def grant(self, checkout: Path, project: Project, *, by: str, at: datetime | None = None) -> None:
        """Trust these settings of this checkout from now on. Raises OSError."""
        moment = (at or datetime.now(UTC)).isoformat(timespec="seconds")
        entries = self._read() | {str(checkout.resolve()): {"digest": project.digest or "", "by": by, "at": moment}}
        private_folder(self._file.parent)
        handle, name = tempfile.mkstemp(prefix=".trust-", dir=self._file.parent)
        with os.fdopen(handle, "wb") as output:
            output.write(orjson.dumps(entries, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        Path(name).replace(self._file)

    def _read(self) -> dict[str, dict[str, str]]:
        """The trusted digests; with a damaged file, nothing is trusted."""
        try:
            entries = orjson.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(entries, dict):
            return {}
        return {path: entry for path, entry in entries.items() if isinstance(entry, dict)}
