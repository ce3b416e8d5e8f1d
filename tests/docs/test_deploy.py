"""`docs/deploy`, without containers: its files are parsed; their commands, paths, ports and settings are tried."""

import configparser
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from adapters.store.postgres.address import address_of
from api.cli.main import COMMANDS
from api.http.guards import OPEN
from api.node.access import GUESSES
from api.node.settings import Settings
from tests.api.server import Server, serving
from tests.kit.commands import command
from tests.kit.postgres import Cluster, require
from tests.kit.surroundings import without_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"
NAMES = {command.name for command in COMMANDS}


def known(settings: dict[str, str]) -> Settings:
    """These variables as settings; a name that is none fails."""
    ours = {name: value for name, value in settings.items() if name.startswith("HANSARD_")}
    fields = {name.removeprefix("HANSARD_").lower(): value for name, value in ours.items()}
    assert fields.keys() <= Settings.model_fields.keys()
    return Settings(**fields)  # type: ignore[arg-type]  # texts, as from the environment


@cache
def takes(*words: str) -> bool:
    """Whether the command line knows the command with these options."""
    assert words[0] in NAMES
    output = command(*words, "--help", env={})
    return output.returncode == 0 and all(
        word.partition("=")[0] in output.stdout for word in words if word.startswith("--")
    )


# -- the image -----------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def of(name: str) -> list[str]:
    return [words for kind, words in instructions() if kind == name]


def test_the_image_does_not_run_as_root() -> None:
    assert of("USER")[-1].isdecimal() and int(of("USER")[-1]) > 0
    assert [kind for kind, _ in instructions()].index("USER") < [kind for kind, _ in instructions()].index("ENTRYPOINT")


def test_the_image_contains_the_product_installed_from_the_lock_file() -> None:
    copied = {source for words in of("COPY") for source in words.split()[:-1]}
    assert all((ROOT / source).exists() for source in copied)
    assert {"domain", "adapters", "projections", "api", "requirements.txt", "pyproject.toml"} <= copied
    assert any("--require-hashes -r requirements.txt" in words for words in of("RUN"))
    [readable] = re.findall(r"chmod -R a\+rX ([\w. ]+)", "".join(of("RUN")))  # also if the clone was not
    assert {source.partition("/")[0] for source in copied} - {"requirements.txt"} == set(readable.split())
    assert re.search(r"^psycopg==", (ROOT / "requirements.txt").read_text(), flags=re.MULTILINE)


def test_the_image_serves_on_its_port_with_a_log_in_postgresql() -> None:
    variables = dict(word.split("=", 1) for words in of("ENV") for word in shlex.split(words))
    result = known(variables)
    assert (result.port, result.host, result.log_file) == (int(of("EXPOSE")[0]), "0.0.0.0", None)  # noqa: S104
    assert "HANSARD_AUTH" not in variables  # so every request needs a key
    assert str(result.node_dir).startswith(of("VOLUME")[0])
    assert json.loads(of("ENTRYPOINT")[0]) == ["hansard"]
    assert takes(*json.loads(of("CMD")[0]))


def test_the_image_can_back_up_the_database_of_compose() -> None:
    """pg_dump refuses a server that is newer than itself."""
    clients = {"bookworm": 15, "trixie": 17}
    distribution = of("FROM")[0].rpartition("-")[2]
    assert any("postgresql-client" in words.split() for words in of("RUN"))
    assert int(compose()["services"]["db"]["image"].partition(":")[2]) <= clients[distribution]
    assert {"docs/deploy/backup.sh", "docs/deploy/restore.sh"} <= set(of("COPY")[-1].split())


# -- compose -------------------------------------------------------------------------------------------------------


@cache
def compose() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    result: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return result


def services(command: str) -> dict[str, Any]:
    return {name: each for name, each in compose()["services"].items() if each.get("command", [None])[0] == command}


def test_compose_has_two_servers_and_two_workers_on_one_database() -> None:
    assert (len(services("serve")), len(services("worker"))) == (2, 2)
    for each in (services("serve") | services("worker")).values():
        assert takes(*each["command"])
        variables = {name: re.sub(r"\$\{(\w+):\?\}", r"\1", value) for name, value in each["environment"].items()}
        result, db = address_of(known(variables).database), compose()["services"]["db"]
        assert (result.host, result.user, result.database) == (
            "db",
            db["environment"]["POSTGRES_USER"],
            db["environment"]["POSTGRES_DB"],
        )
        assert "scram-sha-256" in db["environment"]["POSTGRES_INITDB_ARGS"]
        assert each["depends_on"]["db"]["condition"] == "service_healthy"
        assert "127.0.0.1" in db["healthcheck"]["test"]  # by its socket, PostgreSQL answers also while it is set up
        assert each["security_opt"] == ["no-new-privileges=true"]


def test_what_compose_names_exists() -> None:
    for each in compose()["services"].values():
        for volume in each["volumes"]:
            source = volume.split(":")[0]
            assert (DEPLOY / source).is_file() if source.startswith(".") else source in compose()["volumes"]


def test_the_page_builds_the_image_that_compose_starts() -> None:
    [built] = re.findall(r"^docker build -f (\S+) -t (\S+) \.$", (DEPLOY / "README.md").read_text(), re.MULTILINE)
    assert (ROOT / built[0]).is_file()
    for each in (services("serve") | services("worker")).values():
        assert (each["image"], each["pull_policy"]) == (f"${{IMAGE:-{built[1]}}}", "never")


def test_repositories_are_in_one_place_that_all_may_write_to() -> None:
    [place] = {each["environment"]["HANSARD_ROOTS"] for each in (services("serve") | services("worker")).values()}
    for each in (services("serve") | services("worker")).values():
        assert f"repositories:{place}" in each["volumes"]
    assert any(f"install -d -o hansard {place}" in words for words in of("RUN"))


def test_files_with_secrets_are_not_committed() -> None:
    both = services("serve") | services("worker")
    files = {each["path"] for one in both.values() for each in one["env_file"]} | {".env"}
    assert len(files) == 3
    for name in files:
        ignored = subprocess.run(["git", "check-ignore", "-q", DEPLOY / name], cwd=ROOT, check=False)
        assert ignored.returncode == 0, name


def test_every_node_has_a_folder_of_its_own() -> None:
    [place] = of("VOLUME")
    folders = [
        volume.split(":")[0]
        for each in (services("serve") | services("worker")).values()
        for volume in each["volumes"]
        if volume.split(":")[1] == place
    ]
    assert len(set(folders)) == len(folders) == 4


def test_the_proxy_asks_both_servers_on_their_port() -> None:
    text = (DEPLOY / "Caddyfile").read_text()
    [upstreams] = re.findall(r"reverse_proxy (.+) \{", text)
    assert {each.split(":")[0] for each in upstreams.split()} == services("serve").keys()
    assert {each.split(":")[1] for each in upstreams.split()} == set(of("EXPOSE"))
    assert re.findall(r"health_uri (\S+)", text)[0] in OPEN
    for each in services("serve").values():
        [asked] = re.findall(r"127\.0\.0\.1:(\d+)(/\w+)", each["healthcheck"]["test"][-1])
        assert asked[0] in of("EXPOSE") and asked[1] in OPEN


def test_a_server_behind_the_proxy_knows_the_client_and_the_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy's health check names the host that people use, as the server knows no other; and people are told
    apart by their own addresses, if the server believes the proxy."""
    [block] = re.findall(r"health_headers \{\s+Host (\S+)", (DEPLOY / "Caddyfile").read_text())
    [server, _] = services("serve").values()
    assert (block, server["environment"]["HANSARD_ALLOWED_HOSTS"]) == ("{$HANSARD_NAME}", "${HANSARD_NAME:?}")
    through = {"Host": "hansard.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    sent = through | {"Origin": "https://hansard.example"}

    def tried(at: Server, **headers: str) -> int:
        return at.client.post("/login", data={"apiKey": "wrong"}, headers=sent | headers).status_code

    for believed in ("192.0.2.9", server["environment"]["FORWARDED_ALLOW_IPS"]):
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", believed)
        with serving(tmp_path, auth="key", allowed_hosts="hansard.example") as at:
            assert at.client.get("/readyz", headers={"Host": "server-1:8000"}).status_code == 421
            assert at.client.get("/readyz", headers=through).status_code == 200
            if believed != "*":
                assert tried(at) == 403  # an origin with TLS, and a server without
                continue
            assert [tried(at) for _ in range(GUESSES + 1)] == [401] * GUESSES + [429]
            assert tried(at, **{"X-Forwarded-For": "192.0.2.2"}) == 401


# -- systemd -------------------------------------------------------------------------------------------------------


def test_the_unit_starts_a_server_as_its_own_user_in_its_own_folder() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]  # names with capitals
    unit.read(DEPLOY / "hansard.service")
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert (Path(program).name, service["User"]) == ("hansard", "hansard")
    assert takes(*words)
    result = known(dict([service["Environment"].split("=", 1)]))
    assert str(result.data_dir) == f"/var/lib/{service['StateDirectory']}"
    assert service["EnvironmentFile"] == "/etc/hansard/hansard.env"
    assert not {"RestrictNamespaces", "PrivateUsers"} & service.keys()
    lines = (line for line in (DEPLOY / "hansard.env").read_text().splitlines() if not line.startswith("#"))
    assert known(dict(line.split("=", 1) for line in lines)).log_file is None


# -- pages and scripts ---------------------------------------------------------------------------------------------


def commands_of(page: Path) -> Iterator[list[str]]:
    """Every `hansard …` of a page, from blocks and from the running text."""
    for line in re.findall(
        r"(?:^|`|&& |exec server-1 )hansard ((?:[\w-]+)(?: [^`\n&>]+)?)", page.read_text(), flags=re.MULTILINE
    ):
        yield shlex.split(line)


@pytest.mark.parametrize("page", sorted(DEPLOY.glob("*.md")), ids=lambda page: page.name)
def test_the_commands_of_the_pages_exist_and_their_links_work(page: Path) -> None:
    for name, *words in commands_of(page):
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        assert takes(name, *options), (name, words)
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
    for name in set(re.findall(r"HANSARD_([A-Z_]+)\b", page.read_text())) - {"NAME"}:
        assert name.lower() in Settings.model_fields, name


def test_every_file_is_named_on_the_first_page() -> None:
    names = {path.name for path in DEPLOY.iterdir()} - {"README.md", ".env"}
    assert all(name in (DEPLOY / "README.md").read_text() for name in names)


NEWER = """\
"{}/pg_restore" "$@" || exit
for word; do
  case $word in
    --file=*) sed -i "2iSET transaction_timeout = 0;" "${{word#--file=}}" ;;
    --dbname=*) psql --quiet "$word" --command="SET transaction_timeout = 0" || exit ;;
  esac
done
"""
"""As if a newer pg_dump had made the dump: it sets what a PostgreSQL before 17 does not know."""


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


@pytest.mark.nightly
def test_a_backup_is_restored_and_verified(tmp_path: Path) -> None:
    programs = require()
    cluster, bin_folder = Cluster(programs), tmp_path / "bin"
    try:
        bin_folder.mkdir()
        program(bin_folder / "hansard", f'export PYTHONPATH="{ROOT}"\nexec "{sys.executable}" -m api "$@"\n')
        program(bin_folder / "pg_restore", NEWER.format(programs))
        env = without_settings()
        env |= {
            "PATH": f"{bin_folder}:{programs}:{env['PATH']}",
            "HANSARD_DATABASE": cluster.url("postgres"),
            "HANSARD_DATA_DIR": str(tmp_path / "node"),
        }

        def done(*command: str) -> str:
            result = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stderr
            return result.stdout.strip()

        done("hansard", "run", "-t", "Add a page", "--test", "true", "--fresh", "--detach")
        dump = done(str(DEPLOY / "backup.sh"), str(tmp_path))
        assert Path(dump).stat().st_mode & 0o077 == 0
        before = done("hansard", "export")
        cluster.sql("CREATE DATABASE restored")
        env |= {"HANSARD_DATABASE": cluster.url("restored"), "HANSARD_DATA_DIR": str(tmp_path / "elsewhere")}
        done(str(DEPLOY / "restore.sh"), dump)
        assert done("hansard", "export") == before != ""
    finally:
        cluster.remove()
