"""`[[service]]` and `ports` of `hansard.toml`: what they say, what is refused and where, and what `init` proposes."""

from pathlib import Path

import pytest

from adapters.project import BadProject, parse
from adapters.project.discovery import discover, project_file

TWO = """
[workspace]
ports = ["PORT", "DB_PORT"]
[[service]]
name = "redis"
command = "redis-server --port 6379 --save ''"
ready = "redis-cli ping"
env = { A = "b" }
[[service]]
name = "web"
command = ["python3", "-m", "http.server"]
seconds = 5
"""


def test_services_and_ports_need_trust_and_are_gone_without_it() -> None:
    project = parse(TWO)
    redis, web = project.services()
    assert redis.command.argv == ("redis-server", "--port", "6379", "--save", "")
    assert (redis.ready and redis.ready.argv, redis.env, redis.seconds) == (("redis-cli", "ping"), {"A": "b"}, 60)
    assert (web.ready, web.seconds) == (None, 5)
    assert {name for name, value in project.risky.items() if value} == {"services", "ports"}
    assert project.digest != parse(TWO.replace("6379", "6380")).digest
    assert project.digest != parse(TWO.replace('"redis-cli ping"', '"sh -c evil"')).digest
    bare = project.untrusted()
    assert (bare.services(), bare.workspace.ports, bare.digest) == ((), (), None)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ('[[service]]\nname = "a"\n', "hansard.toml:1 [[service]] command", "required"),
        ('[[service]]\nname = "a"\ncommand = "x"\n[[service]]\nname = "b"\ncommand = "a && b"\n', ":6 [[", "shell"),
        ('[[service]]\nname = "a"\ncommand = "x"\nport = 1\n', ":4 [[service]] port", "unknown key"),
        ('[[service]]\nname = "a"\ncommand = "x"\nseconds = 0\n', ":4 [[service]] seconds", "greater than 0"),
        ('[[service]]\nname = "a/b"\ncommand = "x"\n', ":2 [[service]] name", "match"),
        ('[[service]]\nname = "a"\ncommand = "x"\n' * 2, "[service]", "two services are called 'a'"),
        ('[workspace]\nports = ["PATH"]\n', ":2 [workspace] ports", "'PATH' cannot hold a port"),
        ('[workspace]\nports = ["LD_PRELOAD"]\n', ":2 [workspace] ports", "cannot hold a port"),
        ('[workspace]\nports = ["A", "A"]\n', "[workspace]", "'A' of ports is set twice"),
        ('[workspace]\nports = ["A"]\nenv = { A = "1" }\n', "[workspace]", "'A' of ports is set twice"),
        ("[workspace]\nports = [1]\n", ":2 [workspace] ports", "string"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, place: str, says: str) -> None:
    with pytest.raises(BadProject) as found:
        parse(text)
    [(where, problem)] = found.value.places.items()
    assert place in where
    assert says in problem


def test_databases_of_a_compose_file_are_proposed_as_comments(tmp_path: Path) -> None:
    images = ("postgres:16", "'bitnami/redis:7'", "registry.example.com/shop/web:1", "redis")
    services = "".join(f"  s{number}:\n    image: {image}\n" for number, image in enumerate(images))
    (tmp_path / "docker-compose.yml").write_text(f"services:\n{services}")
    text = project_file(discover(tmp_path))
    assert parse(text).services() == ()
    lines = [line.removeprefix("# ") for line in text.partition("# docker-compose.yml")[2].splitlines()[1:]]
    proposed = parse("\n".join("" if line == "#" else line for line in lines)).services()
    assert [service.name for service in proposed] == ["postgres", "redis"]
    assert all(service.ready for service in proposed)
