"""The things that `doctor` looks at: the team and its programs, and every history of the log."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from adapters.agents.necessities import necessity
from adapters.agents.team import Team, load
from adapters.fence.choice import Sandbox, available, fenced_by, gaps_of
from adapters.fence.folders import inside
from adapters.project import Project
from adapters.store.location import reading
from adapters.store.mapper import decode
from adapters.store.port import Log
from adapters.store.texts import whole
from api.actions.projects import read_project, unfit_team, untrusted_team
from api.cli.error_words import in_words, words_of
from api.cli.labels import HOW_TO_ALLOW, gap, refused_host, sentence
from api.cli.terminal import counted
from api.node.checkouts import checkout_of
from api.node.settings import Settings
from domain.kinds import KINDS, fold
from domain.replay import Difference, first_difference
from domain.session.record import Recorded, kind_of
from domain.values.base import HansardError, Invalid
from domain.values.sentences import Sentence

Mark = Literal["ok", "warn", "fail"]
_LOOKED_AT: Final = 500
"""Of so many of the newest events it is said which hosts were refused."""
_NAMED: Final = 5
"""Hidden folders that are named."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked: its state, and what to do about it."""

    mark: Mark
    name: str
    found: str  # the name on the wire (`--json`)
    advice: str = ""


_LOAD: Final = "`hansard verify` says whether the log was changed; if not, this version cannot read the event."
_STAYS: Final = "The record does not change."
_DIFFER: Final = "The record does not change; `hansard replay {name} --assert` shows both sides."


def histories(settings: Settings) -> Iterator[Finding]:
    """A finding for every stream that would not load or would differ, and one about them all. Writes nothing."""
    if settings.log_file is not None and not settings.log_file.exists():
        yield Finding("ok", "histories", sentence("no log yet"))
        return
    try:
        with reading(settings.database) as store:
            yield from _examined(store)
    except HansardError as error:
        yield Finding(
            "fail", "histories", words_of(error), sentence("`hansard verify` shows what is wrong with the file.")
        )


def _examined(store: Log) -> Iterator[Finding]:
    names, troubled = store.rows.streams(), 0
    for name in names:
        finding = _trouble(store, name)
        if finding is not None:
            troubled += 1
            yield finding
    if not troubled:
        yield Finding(
            "ok",
            "histories",
            sentence("{n} can be loaded and would be decided the same way today", n=len(names)),
        )


def _trouble(store: Log, name: str) -> Finding | None:
    history, session = list[Recorded](), None
    for row in store.rows.events([name]):
        try:
            recorded = decode(row.stored(), row.position)
            session = fold(kind_of(name), [(recorded.event, recorded.metadata)], session)
        except Exception as error:  # whatever it is that an old event does to today's rules
            problem = "version {version}, {topic}, does not load: {error}"
            words = sentence(problem, version=row.version, topic=row.topic, error=_error_words(error))
            return Finding("fail", name, words, sentence(_LOAD))
        history.append(recorded)
    return _difference(store, name, history)


def _difference(store: Log, name: str, history: list[Recorded]) -> Finding | None:
    advice = sentence(_DIFFER, name=name) if kind_of(name) in KINDS else sentence(_STAYS)
    try:
        difference = first_difference(history, partial(whole, store), lambda event_id: _event(store, event_id))
    except Exception as error:  # as above
        return Finding("fail", name, sentence("cannot be decided again: {error}", error=_error_words(error)), advice)
    if difference is None:
        return None
    problem = "version {version} would differ today: {difference}"
    return Finding("fail", name, sentence(problem, version=difference.version, difference=_words(difference)), advice)


def _event(store: Log, event_id: str) -> Recorded | None:
    stream, _, version = event_id.rpartition(":")
    if not version.isdecimal():
        return None
    stretch = store.history(stream, after=int(version) - 1, upto=int(version))
    return stretch[0] if stretch else None


def _words(difference: Difference) -> str:
    match difference.actual.partition(" ")[0]:
        case "refused:" | "not":
            return f"{difference.command} {difference.actual}".strip()
        case "nothing":
            return sentence("{command} records nothing there", command=difference.command)
        case topic:
            return sentence("{command} records a different {topic}", command=difference.command, topic=topic)


def _error_words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


_POSTS: Final = {
    "for a delivery: {roles}": ("planner", "architect", "designer", "dev", "reviewer"),
    "for an orchestration: {roles}": ("planner", "judge", "assistant"),
}
"""The roles that sessions of a kind need. In reviews and debates the first agent of the team is the fallback."""


def check_team(settings: Settings) -> Iterator[Finding]:
    """The team file, for each agent that is a program, whether that program is there, and the repository's settings."""
    try:
        team = load(settings.team)
    except HansardError as error:
        advice = sentence("Fix the file, or name another one in HANSARD_TEAM.")
        yield Finding("fail", "team", words_of(error), advice)
        return
    sandbox = settings.sandbox or team.sandbox or "auto"
    yield fence(sandbox)
    if sandbox != "off" and settings.log_file is not None:
        yield from beside_the_log(settings.log_file)
    try:
        yield from project_networks(read_project(Path.cwd()), sandbox)
    except Invalid as error:
        yield Finding("fail", "hansard.toml", in_words("; ".join(error.errors.values())))
    if team.example:
        path = untrusted_team(Path.cwd(), settings)
        yield _no_team(path, None if path is None else unfit_team(path), example=settings.example)
        return
    yield Finding("ok", "team", f"{settings.team}: {counted(len(team.agents), 'agent')}")
    yield from posts(team)
    yield from programs(team)
    yield from networks(team, sandbox)
    yield from externals(team, settings)


def _no_team(untrusted: Path | None, unfit: str | None, *, example: bool) -> Finding:
    advice = sentence("Run `hansard init` in your repository, or name a file in HANSARD_TEAM.")
    if example:
        return Finding("warn", "team", sentence("the scripted example team, which does no real work"), advice)
    if unfit is not None:
        return Finding("fail", "team", in_words(unfit))
    if untrusted is not None:
        return Finding("warn", "team", in_words(Sentence("team_not_trusted", path=str(untrusted))))
    return Finding("warn", "team", sentence("no team file"), advice)


def fence(sandbox: Sandbox) -> Finding:
    """The fence of the programs that turns run."""
    try:
        gaps = gaps_of(sandbox)
    except HansardError as error:
        return Finding("fail", "fence", sentence("none"), words_of(error))
    description = "; ".join((sentence(fenced_by(sandbox)), *map(gap, gaps)))
    if sandbox == "off":
        advice = sentence('Set sandbox = "auto" (HANSARD_SANDBOX, or the team file).')
        return Finding("warn", "fence", description, advice)
    if available() == "bwrap":
        return Finding("ok", "fence", description)
    return Finding("warn", "fence", description, _to_a_whole_fence())


def beside_the_log(log: Path) -> Iterator[Finding]:
    """The folders that the fence hides without need: it hides the whole folder of the log, so that no program finds a
    copy.
    """
    folder, checkout = log.absolute().parent.resolve(), checkout_of(Path.cwd())
    places = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place.startswith("/")]
    places += [Path(sys.prefix), *([checkout] if checkout else [])]
    hidden = [str(place) for place in dict.fromkeys(places) if place.is_dir() and inside(place.resolve(), (folder,))]
    if hidden:
        more = sentence(" and {n} more", n=len(hidden) - _NAMED) if len(hidden) > _NAMED else ""
        problem = sentence(
            "it hides the log's folder {folder}, and in it: {paths}", folder=folder, paths=", ".join(hidden[:_NAMED])
        )
        advice = sentence("Runs cannot use what is there. Give the log a folder of its own (HANSARD_DATABASE).")
        yield Finding("warn", "fence", f"{problem}{more}", advice)


def _to_a_whole_fence() -> str:
    """The features that bubblewrap lacks on this machine."""
    if shutil.which("bwrap") is None:
        return sentence("Install bubblewrap (`bwrap`).")
    return sentence(
        "bubblewrap (`bwrap`) is installed, but may not create namespaces here. Allow user namespaces; in a container,"
        " with the security_opt of docs/deploy/compose.yaml."
    )


def posts(team: Team) -> Iterator[Finding]:
    """The roles that sessions of a kind need, that no agent has, and that have no fallback."""
    missing = {kind: [role for role in roles if team.agent_for(role) is None] for kind, roles in _POSTS.items()}
    lacking = "; ".join(sentence(kind, roles=", ".join(roles)) for kind, roles in missing.items() if roles)
    if lacking:
        advice = sentence("Give these roles to agents if you need such sessions; otherwise they wait.")
        yield Finding("warn", "roles", sentence("missing {roles}", roles=lacking), advice)


def programs(team: Team) -> Iterator[Finding]:
    """Tells whether each agent's program, or the key of its model, is there."""
    for member in team.agents:
        needed = necessity(member)
        if needed is None:
            continue
        name = sentence("agent {name}", name=member.name)
        if needed.problem is not None:
            yield Finding("fail", name, words_of(needed.problem), sentence("Set it in Hansard's environment."))
        elif not needed.place:
            advice = sentence("Install it, or give its absolute path in the team file.")
            yield Finding("fail", name, sentence("{program} is not found", program=needed.needs), advice)
        else:
            yield Finding("ok", name, needed.place)


def networks(team: Team, sandbox: Sandbox) -> Iterator[Finding]:
    """For each agent with a list of hosts, what it may reach, and whether that is enforced."""
    for name, hosts in team.listed_hosts():
        yield _network(name, hosts, sandbox)


def project_networks(project: Project, sandbox: Sandbox) -> Iterator[Finding]:
    """The same for the commands of the repository's settings."""
    for name, network in (
        (sentence("set-up"), project.workspace.network),
        (sentence("validation"), project.validation.network),
    ):
        if not isinstance(network, str):
            yield _network(name, network, sandbox)


def _network(name: str, hosts: Sequence[str], sandbox: Sandbox) -> Finding:
    if sandbox == "off" or available() != "bwrap":
        problem = sentence("{agent} has a list of hosts, which is not enforced here", agent=name)
        mark: Mark = "fail" if sandbox == "required" else "warn"  # its turns would be refused
        return Finding(mark, "network", problem, sentence("Only bubblewrap can enforce a list of hosts."))
    reached = ", ".join(hosts) or sentence("no host")
    return Finding("ok", "network", sentence("{agent} may reach {hosts}", agent=name, hosts=reached))


def refused(settings: Settings) -> Iterator[Finding]:
    """The hosts that programs of the newest sessions wanted to reach and may not."""
    if settings.log_file is not None and not settings.log_file.is_file():
        return
    try:
        with reading(settings.database) as store:
            events = store.log(after=max(0, store.head() - _LOOKED_AT), limit=_LOOKED_AT)
    except HansardError:
        return
    hosts_of = dict[str, dict[str, None]]()
    for recorded in events:
        for host in getattr(recorded.event, "refused_hosts", ()):
            words = refused_host({"host": host.host, "port": host.port, "reason": host.reason, "count": host.count})
            hosts_of.setdefault(recorded.session_id, {})[words] = None
    for session, hosts in list(hosts_of.items())[-_NAMED:]:
        problem = sentence("refused in {session}: {hosts}", session=session, hosts="; ".join(list(hosts)[:_NAMED]))
        yield Finding("warn", "network", problem, sentence(HOW_TO_ALLOW))


def externals(team: Team, settings: Settings) -> Iterator[Finding]:
    """For each agent who comes for its turns, how many wait for it."""
    for member in team.agents:
        if member.adapter != "external":
            continue
        turns = _turns_of(member.name, settings)
        waiting, held = turns.get("queued", 0), turns.get("running", 0)
        load = sentence("external; turns waiting: {n}, claimed by its worker: {claimed}", n=waiting, claimed=held)
        name = sentence("agent {name}", name=member.name)
        if waiting and not held:
            advice = sentence(
                "Start its worker: it claims turns with POST /api/turns/claim from `hansard serve` on this log."
            )
            yield Finding("warn", name, load, advice)
        else:
            yield Finding("ok", name, load)


def _turns_of(agent: str, settings: Settings) -> dict[str, int]:
    """The numbers of the agent's turns that wait and that run; none in a log that cannot be read, of which others
    tell.
    """
    if settings.log_file is not None and not settings.log_file.is_file():
        return {}
    try:
        with reading(settings.database) as store:
            return store.turns_of(agent)
    except HansardError:
        return {}
