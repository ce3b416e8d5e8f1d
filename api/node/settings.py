"""Settings: from flags, otherwise from `HANSARD_…` in the environment, otherwise defaults for one person on one
machine."""

import ipaddress
import os
import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from adapters.store.postgres.address import address_of, is_shared
from api.node.local_files import default_log, node_folder, views_of
from domain.delivery.validation import prefixes
from domain.values.sentences import Sentence

MOST_ROUNDS = 1_000
"""No setting allows more rounds than this."""
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Limit = Annotated[int, Field(ge=0, le=2**62)]
"""0: none."""
_PREFIX: Final = "HANSARD_"
_LEAST_MEMORY = 67_108_864
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _absolute(file: str) -> Path:
    """The absolute path, independent of later changes of the working directory. Raises ValueError without a home
    folder."""
    try:
        return Path(file).expanduser().absolute()
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def telemetry_signals(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns which of `traces` and `metrics` are exported: those with an address, unless they are turned off.
    OpenTelemetry itself reads the rest of its variables."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    return tuple(signal for signal in ("traces", "metrics") if _exports(environment, signal.upper()))


def _exports(environment: Mapping[str, str], signal: str) -> bool:
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    wanted = any(environment.get(name, "").strip() for name in names)
    return wanted and environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() != "none"


def is_loopback(host: str) -> bool:
    """True if the host is this machine, seen from itself."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _variables(fields: Collection[str]) -> dict[str, str]:
    """The settings in the environment, in small or capital letters, by their fields."""
    upper = {f"{_PREFIX}{name}".upper(): name for name in fields}
    return {upper[key.upper()]: value for key, value in os.environ.items() if value and key.upper() in upper}


class Settings(BaseModel):
    """Every limit, time-out and lease is one, so that a test takes seconds. Unknown `HANSARD_` names are not ours.

    A variable without a value is one that is not set: compose files have no other way of leaving one out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    database: str = Field(default_factory=lambda: f"sqlite:///{default_log()}")
    database_trusted: bool = Field(
        default=False, description="1: agents with a network may run although the database asks for no password"
    )
    data_dir: Path | None = Field(
        default=None, description="where a machine keeps views, workspaces, agents' homes and keys"
    )
    roots: str = Field(default="", description="folders, with colons between them, in which workspaces may be")
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8000
    team: Path | None = None
    example: bool = Field(default=False, description="1: without a team file, the scripted example team answers")
    auth: Literal["key", "off"] = Field(
        default="key", description="`off`: everybody on this machine may do everything; only on loopback"
    )
    api_keys_file: Path | None = None
    login_seconds: Annotated[float, Field(gt=0, le=31_536_000)] = Field(
        default=604_800.0, description="how long a browser that has shown a key stays signed in"
    )
    forge: Path | None = Field(
        default=None, description="the file with the settings of the forge; else forge.toml beside the owner's key"
    )
    worklog_folder: Path | None = Field(default=None, description="where worklogs are kept as files, too")
    allowed_hosts: str = Field(default="", description="further Host names to answer to, with commas")
    budget_minute: Seconds = Field(default=60.0, description="seconds in a budget minute")
    max_body_bytes: Annotated[int, Field(ge=1_024)] = 1_048_576
    max_waiting: Annotated[int, Field(ge=1)] = 10_000
    max_rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = Field(
        default=20, description="most rounds that a review or debate may ask for"
    )
    worker_slots: Annotated[int, Field(ge=1, le=256)] = 8
    lease_seconds: Seconds = 60.0
    heartbeat_seconds: Seconds = 15.0
    claim_wait_seconds: Seconds = Field(default=30.0, description="how long an external worker is kept waiting at most")
    retry_attempts: Annotated[int, Field(ge=1, le=100)] = Field(default=5, description="attempts of a turn that fails")
    no_progress_limit: Annotated[int, Field(ge=0, le=100)] = Field(
        default=2, description="iterations in a row without progress after which a delivery rests; 0 for any number"
    )
    retry_seconds: Annotated[float, Field(ge=0, le=3_600)] = Field(
        default=1.0, description="real seconds in a second of waiting between attempts"
    )
    validation_seconds: Seconds = 600.0
    trust: Literal["ask", "all"] = Field(
        default="ask", description="all: set-up and environment of any hansard.toml take effect unasked"
    )
    setup_seconds: Seconds = Field(default=900.0, description="for the whole set-up of a new workspace")
    output_bytes: Annotated[int, Field(ge=1_024)] = 1_048_576
    command_memory_bytes: Limit = 0
    command_cpu_seconds: Limit = 0
    command_processes: Limit = 0
    disk_reserve_bytes: Limit = Field(
        default=268_435_456, description="what programs leave free on the disk; they are stopped before they take it"
    )
    command_file_bytes: Limit = Field(default=17_179_869_184, description="16 GiB: no tool-chain writes such a file")
    sandbox: Literal["auto", "required", "off"] | None = Field(
        default=None, description="the fence around everything that runs; else what the team file says, else auto"
    )
    commands_allowed: str = Field(default="", description="what a validation command may begin with, with commas")
    workspace_files: Annotated[int, Field(ge=1)] = Field(
        default=50_000, description="files in a folder without git that may be worked in"
    )
    workspace_bytes: Annotated[int, Field(ge=1)] = Field(default=1_073_741_824, description="bytes in one")
    share_bytes: Annotated[int, Field(ge=0)] = Field(
        default=268_435_456, description="most bytes of a commit that other machines fetch through the database"
    )
    checkpoint_to: str = Field(
        default="", description="where signed checkpoints are put by themselves: a path or a command"
    )
    checkpoint_every: Annotated[int, Field(ge=1)] = Field(default=1_000, description="events between two of them")
    poll_seconds: Annotated[float, Field(gt=0, le=1)] = 0.5
    read_after_seconds: Seconds = 5.0
    receive_seconds: Seconds = Field(default=30.0, description="how long a request may take to arrive, head and body")
    sse_heartbeat_seconds: Annotated[float, Field(gt=0, le=15)] = 15.0
    lag_events: Annotated[int, Field(ge=1)] = Field(default=1_000, description="events behind at which /readyz says no")

    @field_validator("database")
    @classmethod
    def _known_store(cls, url: str) -> str:
        if url.strip() and not _SCHEME.match(url):
            return f"sqlite:///{_absolute(url)}"
        if is_shared(url):
            address_of(url)
            return url
        if not url.startswith("sqlite:///") or url == "sqlite:///":
            raise ValueError(Sentence("not_a_log_address"))
        return url

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take what is not given from the environment."""
        return _variables(cls.model_fields) | arguments

    @field_validator("command_memory_bytes")
    @classmethod
    def _enough_to_start(cls, size: int) -> int:
        if 0 < size < _LEAST_MEMORY:
            raise ValueError(Sentence("too_little_memory", number=_LEAST_MEMORY))
        return size

    @field_validator("forge")
    @classmethod
    def _not_in_a_repository(cls, path: Path | None) -> Path | None:
        """A relative path would mean another file in each repository."""
        if path is not None and not path.expanduser().is_absolute():
            raise ValueError(Sentence("forge_file_relative"))
        return path

    @field_validator("worklog_folder")
    @classmethod
    def _same_everywhere(cls, path: Path | None) -> Path | None:
        if path is not None and not path.expanduser().is_absolute():
            raise ValueError(Sentence("place_relative", path=path))
        return path

    @field_validator("checkpoint_to")
    @classmethod
    def _path_or_command(cls, place: str) -> str:
        try:
            words = shlex.split(place)
        except ValueError:
            raise ValueError(Sentence("command_unbalanced")) from None
        if words and "/" in words[0] and not words[0].startswith(("/", "~")):
            raise ValueError(Sentence("place_relative", path=words[0]))
        return place if words else ""

    @field_validator("commands_allowed")
    @classmethod
    def _readable(cls, value: str) -> str:
        prefixes(value)
        return value

    @property
    def log_file(self) -> Path | None:
        """The file of the log; None if it is in a database that many machines may use."""
        return None if is_shared(self.database) else Path(self.database.removeprefix("sqlite:///"))

    @property
    def log_name(self) -> str:
        """The display name of the log."""
        return str(self.log_file or address_of(self.database))

    @property
    def root_folders(self) -> tuple[Path, ...]:
        """The folders that may hold workspaces; empty: any."""
        return tuple(Path(root).expanduser().absolute() for root in self.roots.split(os.pathsep) if root.strip())

    @property
    def signing_key(self) -> Path:
        """The key that signs checkpoints, proofs and results."""
        return self.node_dir / "signing.key"

    @property
    def node_dir(self) -> Path:
        """The folder for what belongs to this machine: views, workspaces, agents' homes and keys. Never below the log's
        folder, so that finding a workspace does not reveal the log. Each log has its own."""
        if self.data_dir is not None:
            return self.data_dir.expanduser().absolute()
        file = self.log_file
        place = str(file.absolute()) if file else address_of(self.database).place
        return node_folder(place, file.stem if file else "postgresql")

    @property
    def outbox_file(self) -> Path:
        """The file of unsent notifications, if there is no database of several machines."""
        return self.node_dir / "notify.db"

    @property
    def views_path(self) -> Path:
        return views_of(self.node_dir)

    @property
    def loopback(self) -> bool:
        return is_loopback(self.host)
