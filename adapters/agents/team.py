"""The team: `team.toml`, or the scripted example team if there is none (contract §1)."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from adapters.agents.acp.agent import AcpAgent
from adapters.agents.acp.settings import AcpSettings
from adapters.agents.codex.agent import CodexAgent
from adapters.agents.command.agent import CommandAgent
from adapters.agents.command.settings import CommandSettings
from adapters.agents.external import External, ExternalSettings
from adapters.agents.model.agent import ModelAgent
from adapters.agents.model.endpoint import SPEAKS, ModelSettings
from adapters.agents.permissions import PermissionRules, TeamDecisions
from adapters.agents.port import Agent, Limits
from adapters.agents.presets.catalogue import NAMES, preset
from adapters.agents.scripted import Scenario, Scripted
from adapters.agents.tables import AnyValue, BadTeam, dotted, parsed, place_of, scenario_of
from adapters.fence.choice import Sandbox
from adapters.files import Unfit, content
from adapters.notify.settings import NotifySettings
from domain.values.base import Value
from domain.values.network import Network
from domain.values.sentences import Sentence, at_place, because, sentence_of

EmployeeRole = Literal["frontend", "backend", "data", "docs", "custom"]
DeliveryRole = Literal["planner", "architect", "designer", "dev", "reviewer"]
TalkRole = Literal["judge", "assistant", "coder", "critic", "synthesizer"]
Role = Literal[DeliveryRole, TalkRole, EmployeeRole]
EVERYTHING: tuple[Role, ...] = (*get_args(DeliveryRole), *get_args(TalkRole), *get_args(EmployeeRole))
Settings = Scenario | CommandSettings | ExternalSettings | ModelSettings | AcpSettings
_SETTINGS: Mapping[str, type[CommandSettings | ExternalSettings | ModelSettings | AcpSettings]] = {
    "acp": AcpSettings,
    "command": CommandSettings,
    "external": ExternalSettings,
    "model": ModelSettings,
}
ADAPTERS = ("scripted", "command", "acp", "model", "external")


class TeamLimits(Value):
    """Limits of every turn, unless the session sets its own."""

    turn_seconds: float = Field(default=1_800.0, gt=0, le=604_800)
    idle_seconds: float | None = Field(default=None, gt=0, le=604_800)
    output_bytes: int = Field(default=1_048_576, gt=0, le=1_073_741_824)

    def of_a_turn(self) -> Limits:
        return Limits(wall_seconds=self.turn_seconds, idle_seconds=self.idle_seconds, output_bytes=self.output_bytes)


class TeamRetry(Value):
    """`[retry]`: how failed turns are retried; missing settings have their defaults."""

    attempts: int | None = Field(default=None, ge=1, le=100)
    backoff_seconds: tuple[float, ...] | None = Field(default=None, min_length=1, max_length=50)
    max_wait_seconds: float | None = Field(default=None, ge=0, le=2_592_000)
    repairs: int | None = Field(default=None, ge=0, le=10)
    fallback: tuple[str, ...] | None = None


class Strategies(Value):
    """The default strategies of reviews and debates, and their limits of rounds (S2 phase 6, behaviour §2.1)."""

    agent_strategy: Literal["review", "red-team"] = "review"
    plan_strategy: Literal["debate", "perspectives"] = "debate"
    max_review_iterations: Annotated[int, Field(ge=1, le=20)] = 3
    max_debate_iterations: Annotated[int, Field(ge=1, le=20)] = 2

    def of(self, kind: Literal["review", "debate"]) -> tuple[str, int]:
        """Strategy and limit of rounds, for reviews or for debates."""
        if kind == "review":
            return self.agent_strategy, self.max_review_iterations
        return self.plan_strategy, self.max_debate_iterations


class Member(Value):
    """One agent: its name, its roles, and its adapter. Secrets are only referred to by name."""

    name: str
    roles: tuple[Role, ...]
    adapter: Literal["scripted", "command", "acp", "model", "external"]
    preset: str | None = None
    settings: Settings
    conversation: Literal["role", "agent"] = "role"
    """Whether it has a separate conversation for each of its roles, or one for all."""
    model: str | None = None
    """The configured model, for the report on costs; the model that the agent itself reports takes precedence."""

    @property
    def takes_models(self) -> bool:
        """Returns whether it can be asked with another model than its own."""
        match self.settings:
            case CommandSettings() as settings:
                return settings.takes_models
            case ExternalSettings():
                return False
            case _:
                return True

    def with_model(self, model: str | None) -> Self:
        """The same agent with this model, if there is one."""
        if model is None or model == self.model:
            return self
        settings = self.settings
        if not isinstance(settings, Scenario | ExternalSettings):
            settings = settings.model_copy(update={"model": model})
        return self.model_copy(update={"model": model, "settings": settings})


class _TeamSettings(Value):
    """The settings of a team file besides its agents."""

    limits: TeamLimits = TeamLimits()
    settings: Strategies = Strategies()
    retry: TeamRetry = TeamRetry()
    permissions: PermissionRules = PermissionRules()
    notify: NotifySettings | None = None
    decisions: TeamDecisions | None = None
    language: Literal["en", "ko"] | None = None
    sandbox: Sandbox | None = None


class Team(_TeamSettings):
    """All agents in the order of the file. `example`: no team was configured."""

    agents: tuple[Member, ...]
    example: bool = False

    def named(self, name: str) -> Member | None:
        """The agent with that name, ignoring case."""
        wanted = name.casefold()
        return next((member for member in self.agents if member.name.casefold() == wanted), None)

    def agent_for(self, role: str) -> Member | None:
        """The agent with that name or, if there is none, the first one listed that has the role."""
        wanted = role.casefold()
        fitting = (member for member in self.agents if wanted in member.roles)
        return self.named(role) or next(fitting, None)

    def member_for(
        self, agent: str, role: str, crew: Mapping[str, str], recast: Mapping[str, str] | None = None
    ) -> Member | None:
        """The member to ask in a turn of that agent and role; None if it is not in this team.

        A session's crew names its members: neither the examples nor other agents with the same role replace them
        (K-36). If no agent was named, the role decides. `recast` has the members to which a fork gave a role.
        """
        if recast and role in recast:
            return self.named(recast[role])
        if not crew:
            return self.agent_for(agent) or self.agent_for(role)
        if self.example:
            return None
        meant = agent if agent in crew.values() else crew.get(agent) or crew.get(role)
        return self.named(agent) or (self.agent_for(role) if meant is None else self.named(meant))

    def secrets(self) -> tuple[Path, ...]:
        """The files with keys that the agents' settings name."""
        named = [value for settings in self._programs() for value in settings.env.values()]
        named += [one.settings.api_key or "" for one in self.agents if isinstance(one.settings, ModelSettings)]
        return tuple(Path(value.removeprefix("file:")) for value in named if value.startswith("file:/"))

    def has_network(self, *, fenced: bool) -> bool:
        """True if a program of some agent can reach every other machine and this machine's servers."""
        return any(settings.network == "all" or not fenced for settings in self._programs())

    def lists_hosts(self) -> bool:
        """True if a program of some agent may reach a list of hosts alone."""
        return any(not isinstance(settings.network, str) for settings in self._programs())

    def listed_hosts(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each agent whose program may reach a list of hosts alone, and that list."""
        for member in self.agents:
            settings = member.settings.program if isinstance(member.settings, AcpSettings) else member.settings
            if isinstance(settings, CommandSettings) and not isinstance(settings.network, str):
                yield member.name, settings.hosts()

    def _programs(self) -> Iterator[CommandSettings | AcpSettings]:
        """The settings of the members that are programs on this machine."""
        for member in self.agents:
            if isinstance(member.settings, CommandSettings | AcpSettings):
                yield member.settings

    def employees(self) -> tuple[tuple[str, str], ...]:
        """Name and role of all agents that take subtasks, by the first such role (behaviour §1.1)."""
        posts = get_args(EmployeeRole)
        pairs = ((member.name, next((r for r in member.roles if r in posts), None)) for member in self.agents)
        return tuple((name, role) for name, role in pairs if role)


def load(path: Path | None) -> Team:
    """The team in the file; without a file, the example team. Raises `BadTeam`."""
    if path is None:
        return example()
    try:
        table = tomllib.loads(content(path))
    except Unfit as error:
        raise BadTeam(sentence_of(error)) from None
    except ValueError as error:
        raise BadTeam(because(Sentence("not_toml", path=path), str(error))) from None
    except RecursionError:
        raise BadTeam(Sentence("nested_too_deeply", path=path)) from None
    if "agents" not in table:
        raise BadTeam(Sentence("team_without_agents", path=path))
    config = parsed(_Written, table, lambda loc: place_of(path, table, loc))
    members = tuple(_member(path, entry) for entry in config.agents)
    _refuse_twins(path, members)
    rest = {name: getattr(config, name) for name in _TeamSettings.model_fields}
    return Team(agents=members, **rest)


def example() -> Team:
    """Scripted agents for every role; they answer harmlessly, or from the session's own scenario."""
    posts: tuple[Role, ...] = (*get_args(DeliveryRole), *get_args(TalkRole))
    employees: tuple[tuple[str, Role], ...] = (
        ("Frontend", "frontend"),
        ("Backend", "backend"),
        ("Data", "data"),
        ("Docs", "docs"),
    )
    names = (*((post, post) for post in posts), *employees)
    members = (Member(name=n, roles=(r,), adapter="scripted", settings=Scenario()) for n, r in names)
    return Team(agents=tuple(members), example=True)


def build(member: Member, data_dir: Path) -> Agent:
    """The agent with its adapter; its data is kept below `data_dir`."""
    match member.settings:
        case Scenario() as scenario:
            return Scripted(scenario)
        case CommandSettings(questions="codex") as settings:
            return CodexAgent(settings.named(member.model), data_dir)
        case CommandSettings() as settings:
            return CommandAgent(settings.named(member.model), data_dir)
        case AcpSettings() as settings:
            return AcpAgent(settings.named(member.model), data_dir)
        case ModelSettings() as settings:
            return ModelAgent(settings)
        case ExternalSettings():
            return External()


def _many(roles: object) -> object:
    if isinstance(roles, str):
        return (roles,)
    return tuple(roles) if isinstance(roles, list) else roles


def _some(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    if not entries:
        raise ValueError(Sentence("must_list_one"))
    return entries


class _Listed(Value):
    """An agent as it is in the file."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^\S([^\x00-\x1f\x7f]*\S)?$")
    roles: Annotated[tuple[Role, ...], BeforeValidator(_many), AfterValidator(_some)] | None = None
    adapter: str | None = None
    preset: str | None = None
    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S([^\x00-\x1f\x7f]*\S)?$")] | None = None
    conversation: Literal["role", "agent"] = "role"
    network: Network | None = None
    services: bool | None = None
    settings: dict[str, Any] = Field(default_factory=dict)  # parsed by the adapter

    def own_settings(self) -> dict[str, Any]:
        """The settings of the adapter, which say themselves what the program may reach and whether services run beside
        it, or leave it to the agent."""
        beside = {"network": self.network, "services": self.services}
        return {**{name: value for name, value in beside.items() if value is not None}, **self.settings}


class _Written(_TeamSettings):
    """The file."""

    agents: Annotated[tuple[_Listed, ...], Field(max_length=100), AfterValidator(_some)]


def _member(path: Path, entry: _Listed) -> Member:
    where = f"{path}: agent {entry.name!r}"
    if entry.preset is not None:
        return _of_a_preset(where, entry)
    adapter = entry.adapter
    roles = entry.roles or {"model": SPEAKS, "acp": EVERYTHING}.get(adapter or "")
    if roles is None or adapter is None:
        missing = "roles" if roles is None else "adapter"
        raise BadTeam(at_place(f"{where}: {missing}", Sentence("missing_without_preset")))
    if adapter != "scripted" and adapter not in _SETTINGS:
        raise BadTeam(at_place(f"{where}: adapter", Sentence("no_such_adapter", given=adapter, names=ADAPTERS)))
    settings = scenario_of(path, where, entry.settings) if adapter == "scripted" else _settings(where, entry, adapter)
    model = entry.model
    if isinstance(settings, ModelSettings):
        settings = settings.named(model)
        model = settings.model
        if (problem := settings.unfit(roles)) is not None:
            raise BadTeam(at_place(where, problem))
    named: dict[str, Any] = {"name": entry.name, "adapter": adapter, "conversation": entry.conversation}
    return Member(roles=roles, settings=settings, model=model, **named)


def _settings(where: str, entry: _Listed, adapter: str) -> Settings:
    return _parsed(_SETTINGS[adapter], where, entry.own_settings())


def _parsed(kind: type[AnyValue], where: str, settings: Mapping[str, Any]) -> AnyValue:
    for name in (_TeamSettings.model_fields.keys() - kind.model_fields.keys()) & settings.keys():
        raise BadTeam(at_place(f"{where}: settings.{name}", Sentence("key_of_the_team")))
    return parsed(kind, settings, lambda loc: f"{where}: {dotted(('settings', *loc))}")


def _of_a_preset(where: str, entry: _Listed) -> Member:
    """An agent from a preset; the file needs to set nothing else."""
    base = preset(entry.preset or "")
    if base is None:
        raise BadTeam(at_place(f"{where}: preset", Sentence("no_such_preset", given=entry.preset, names=NAMES)))
    if entry.adapter not in (None, "command"):
        raise BadTeam(at_place(f"{where}: adapter", Sentence("preset_needs_command")))
    settings = _parsed(CommandSettings, where, base.extended(entry.own_settings()))
    return Member(
        name=entry.name,
        roles=entry.roles or EVERYTHING,
        adapter="command",
        preset=base.name,
        settings=settings,
        model=entry.model or settings.model,
        conversation=entry.conversation,
    )


def _refuse_twins(path: Path, members: tuple[Member, ...]) -> None:
    seen: set[str] = set()
    for member in members:
        if member.name.casefold() in seen:
            raise BadTeam(at_place(f"{path}: agent {member.name!r}: name", Sentence("agent_name_taken")))
        seen.add(member.name.casefold())
