"""`hansard trust`: shows what a repository's settings set up, asks, and lets it take effect."""

import asyncio
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.interview import is_interactive
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Where
from api.cli.terminal import put, put_json, say, visible


async def trust(
    path: ExistingDirectory = Path(),
    /,
    *,
    yes: Annotated[bool, Parameter(name="--yes", negative="")] = False,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Show what a repository's `hansard.toml` sets up, ask, and trust it: commands, environment, networks, team.

    It takes effect from then on. If it changes, or a file of the repository that it runs, trust it again.

    Parameters
    ----------
    path
        A folder in the repository.
    yes
        Trust without being asked, as in scripts.
    """
    body = {"workspace": str(path.resolve())}
    async with connected(where, "first") as api:
        try:
            shown = await api.post("/api/trust", {**body, "preview": True})
            if not json:
                for line in _to_trust(shown):
                    put(visible(line))
            is_new = not (shown["digest"] and shown["trusted"])
            if shown["digest"] and is_new and not yes and not await _agrees():
                say(sentence("Nothing is trusted."))
                return exits.FAILURE
            granted = await api.post("/api/trust", {**body, "digest": shown["digest"]}) if is_new or yes else shown
        except Failed as error:  # the folder is no option here
            words = (each.removeprefix("--workspace: ") for each in error.sentences)
            raise Failed(*words, code=error.code, problem=error.problem) from None
    if json:
        put_json(granted)
    else:
        already = sentence("{workspace} is already trusted.", workspace=granted["workspace"])
        say(sentence("Trusted: {workspace}", workspace=granted["workspace"]) if is_new else already)
    return exits.OK


async def _agrees() -> bool:
    """Asks the person at the terminal whether they trust what was just shown. Raises Failed where there is nobody."""

    if not is_interactive():
        raise Failed(sentence("Nobody can be asked here. Read these settings, then add --yes."), code=exits.USAGE)
    say(sentence("Trust these settings? [y/N]"))
    answer = await asyncio.to_thread(sys.stdin.readline)
    return answer.strip().casefold() in ("y", "yes", "예", "네")


def _to_trust(shown: dict[str, Any]) -> list[str]:
    """The settings that would take effect, a line each."""
    lines = [sentence("set-up: {command}", command=command) for command in shown["setup"]]
    lines += [sentence("env: {name}={value}", name=name, value=value) for name, value in shown["env"].items()]
    if shown["setup"]:
        lines.append(sentence("network of set-up: {hosts}", hosts=_hosts(shown["setupNetwork"])))
    if shown["network"] != "none":
        lines.append(sentence("network of validation: {hosts}", hosts=_hosts(shown["network"])))
    lines += list(_services(shown))
    lines += [sentence("copy: agents get {path}", path=path) for path in shown["copy"]]
    lines += [sentence("link: agents see {path}", path=path) for path in shown["link"]]
    if not shown["cleanRoom"]:
        lines.append(sentence("clean room: none, so leftovers can make a validation pass"))
    if shown["filters"]:
        lines.append(sentence("filters: those of your git run, fenced, on the files of the repository"))
    lines += [sentence("runs {path} ({digest})", path=path, digest=each[:12]) for path, each in shown["files"].items()]
    return lines + _team_to_trust(shown)


def _services(shown: dict[str, Any]) -> Iterator[str]:
    """The programs that run beside the commands, and the variables with their ports."""
    for service in shown["services"]:
        yield sentence("service {name}: {command}", name=service["name"], command=service["command"])
        if service["ready"]:
            yield sentence("service {name} is ready after: {command}", name=service["name"], command=service["ready"])
        for name, value in service["env"].items():
            yield sentence("env of service {service}: {name}={value}", service=service["name"], name=name, value=value)
    if shown["ports"]:
        yield sentence("ports: {names}", names=", ".join(shown["ports"]))


def _team_to_trust(shown: dict[str, Any]) -> list[str]:
    """The team file, the programs that it runs, and what they may do."""
    if not shown["team"]:
        return []
    lines = [sentence("team: {team}", team=shown["team"])]
    lines += [sentence("sandbox: {sandbox}", sandbox=shown["sandbox"])] if shown["sandbox"] else []
    lines += [sentence("notifies by: {command}", command=shlex.join(shown["notify"]))] if shown["notify"] else []
    for agent in shown["agents"]:
        how = agent["adapter"]
        if agent["argv"]:
            home = sentence("your home folder") if agent["home"] == "user" else sentence("a home of its own")
            network = sentence("network: {hosts}", hosts=_hosts(agent["network"]))
            more = f"; {sentence('with the services')}" if agent["services"] else ""
            how = f"{shlex.join(agent['argv'])} ({home}; {network}{more})"
        lines.append(sentence("agent {name}: {how}", name=agent["name"], how=how))
    return lines


def _hosts(network: str | list[str]) -> str:
    if network == "all":
        return sentence("all addresses")
    return sentence("none") if network in ("none", []) else ", ".join(network)
