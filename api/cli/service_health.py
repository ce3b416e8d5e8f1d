"""The services of the repository in which `hansard doctor` runs, as it reports them. Starts none of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adapters.fence.choice import Sandbox, available
from adapters.fence.folders import find
from adapters.fence.network.loopback import can_be_made
from adapters.processes.environment import clean_environment
from adapters.project import load
from api.cli.health import Finding
from api.cli.labels import sentence
from api.node.checkouts import checkout_of
from domain.values.base import HansardError

_NAME: Final = "services"


def check_services(sandbox: Sandbox) -> Iterator[Finding]:
    """For each service, whether its program is there; and whether services have a network of their own here."""
    root = checkout_of(Path.cwd())
    if root is None:
        return
    try:
        project = load(root)
    except HansardError:  # who starts something there is told
        return
    for service in project.services():
        program, name = service.command.argv[0], service.name
        place = root / program if "/" in program else find(program, clean_environment(), hides=lambda _: False)
        if place is None or not place.exists():
            problem = sentence("service {name}: {program} is not found", name=name, program=program)
            advice = sentence("Install it, or correct the service in hansard.toml.")
            yield Finding("fail", _NAME, problem, advice)
            continue
        command = service.command.command
        words = sentence("service {name}: {command} ({program})", name=name, command=command, program=place)
        yield Finding("ok", _NAME, words)
    if (project.service or project.workspace.ports) and (
        sandbox == "off" or available() != "bwrap" or not can_be_made()
    ):
        problem = sentence("services and ports are those of this machine, because it allows no network of their own")
        advice = sentence(
            "Without bubblewrap and user namespaces, give each service a port of `ports`, so that sessions do not meet."
        )
        yield Finding("warn", _NAME, problem, advice)
