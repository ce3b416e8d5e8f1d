"""Settings of the forge: the file in `HANSARD_FORGE`, else `forge.toml` beside the owner's key. Nothing of them ever
comes from a repository."""

import tomllib
from pathlib import Path
from typing import Annotated, Final, Self

import orjson
from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from adapters.files import Unfit, content
from adapters.forge.port import ForgeKind, ForgeRepository
from adapters.forge.remotes import GITHUB, GITLAB, hostname, on_loopback
from adapters.references import SecretReference, web_address
from domain.values.base import HansardError, Value
from domain.values.sentences import Sentence, at_place, at_places, of_pydantic, sentence_of

NAME: Final = "forge.toml"
_PROGRAMS: Final = ("gh", "glab")


class BadForge(HansardError):
    """The file cannot be used."""


def _address(url: str) -> str:
    parts = web_address(url)
    if parts.scheme == "http" and not on_loopback(parts.netloc):
        raise ValueError(Sentence("forge_not_encrypted"))
    if parts.query or parts.fragment:
        raise ValueError(Sentence("forge_api_has_query"))
    return url.rstrip("/")


def _token(text: str) -> str:
    if text not in _PROGRAMS and not (text.startswith("env:") and len(text) > len("env:")):
        raise ValueError(Sentence("not_a_forge_token"))
    return text


Micros = Annotated[int, Field(ge=1, le=2**53 - 1)]
TokenSource = Annotated[str, Field(max_length=200), AfterValidator(_token)]
"""`env:NAME`, `gh` or `glab`."""
Allowed = Annotated[str, Field(pattern=r"^@?[A-Za-z0-9_][A-Za-z0-9._/\[\]-]{0,254}$")]


class ForgeSettings(Value):
    """The file. `token` absent: at a person's terminal, what `gh` or `glab` is logged in with; else there is none."""

    model_config = ConfigDict(alias_generator=None)

    kind: ForgeKind | None = None
    """The kind of a host that does not say it by its name."""
    api: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_address)] | None = None
    """The address of the REST API, such as `https://git.example.com/api/v4`."""
    token: TokenSource | None = None
    follow: bool = False
    """Whether `serve` keeps at every open pull request."""
    allow: Annotated[tuple[Allowed, ...], Field(max_length=200)] = ()
    """Accounts, and `@team`s of the owner's organisation, whose comments count although they may not push."""
    secret: SecretReference | None = None
    """What the forge signs its webhooks with: `env:NAME` or `file:/path`."""
    checks_attempts: Annotated[int, Field(ge=0, le=100)] = 3
    quiet_seconds: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    poll_seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    max_revisions: Annotated[int, Field(ge=0, le=1_000)] = 10
    max_cost_micros: Micros | None = None

    @model_validator(mode="after")
    def _same_kind(self) -> Self:
        if (self.token, self.kind) in (("gh", "gitlab"), ("glab", "github")):
            raise ValueError(Sentence("forge_program_of_other_kind", program=self.token, kind=self.kind))
        return self

    @property
    def api_host(self) -> str | None:
        """The host that `api` names, with its port."""
        return web_address(self.api).netloc.lower() if self.api else None

    def is_for(self, repository: ForgeRepository) -> bool:
        """Returns whether these settings are about the repository's host: their token goes to one host only. With
        `api`, it is that host; a program's login is always the host's own; any other token is for the public forge."""
        host = hostname(repository.host)
        if self.api_host is not None:
            return on_loopback(self.api_host) or hostname(self.api_host) in (host, f"api.{host}")
        if self.token is None or self.token in _PROGRAMS:
            return True
        return repository.host == (GITHUB if repository.kind == "github" else GITLAB) and self.kind in (
            None,
            repository.kind,
        )

    def allows(self, name: str) -> bool:
        """Returns whether `allow` names the account itself."""
        return name.casefold() in {each.casefold() for each in self.allow if not each.startswith("@")}

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams of `allow`, without their `@`."""
        return tuple(each[1:] for each in self.allow if each.startswith("@"))


DEFAULTS: Final = ForgeSettings()


def read_settings(file: Path) -> ForgeSettings:
    """The settings in the file; the defaults if there is none. Raises BadForge, which names file and key."""
    if not file.exists():
        return DEFAULTS
    try:
        table = tomllib.loads(content(file))
        return ForgeSettings.model_validate_json(orjson.dumps(table), strict=True)
    except Unfit as error:
        raise BadForge(sentence_of(error)) from None
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:5]
        raise BadForge(at_places((_place(file, each), _sentence(each)) for each in problems)) from None
    except RecursionError:
        raise BadForge(at_place(str(file), Sentence("toml_nested_too_deeply"))) from None
    except (ValueError, orjson.JSONEncodeError) as error:
        raise BadForge(at_place(str(file), Sentence("toml_malformed", detail=error))) from None


def _place(file: Path, problem: ErrorDetails) -> str:
    key = ".".join(str(each) for each in problem["loc"])
    return f"{file} {key}" if key else str(file)


def _sentence(problem: ErrorDetails) -> str:
    return Sentence("unknown_key") if problem["type"] == "extra_forbidden" else of_pydantic(problem)
