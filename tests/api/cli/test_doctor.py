"""The doctor finds problems and says how to fix them."""

import os
import sqlite3
from pathlib import Path
from typing import Literal

import pytest

from adapters.agents.team import load
from adapters.project import Project
from api.cli import doctor, health
from tests.api.cli.conftest import Hansard


@pytest.mark.parametrize(
    ("version", "mark"),
    [
        ((3, 36, 0), "fail"),
        ((3, 40, 1), "warn"),
        ((3, 44, 5), "warn"),
        ((3, 44, 6), "ok"),
        ((3, 45, 0), "warn"),
        ((3, 50, 6), "warn"),
        ((3, 50, 7), "ok"),
        ((3, 51, 0), "warn"),
        ((3, 51, 2), "warn"),
        ((3, 51, 3), "ok"),
        ((4, 0, 0), "ok"),
    ],
)
def test_versions_of_sqlite_with_the_wal_reset_defect_are_named(version: tuple[int, int, int], mark: str) -> None:
    """Promise F7: 3.7.0 to 3.51.2, but for 3.44.6 and 3.50.7."""
    assert doctor.sqlite(version).mark == mark


def test_beside_a_log_in_postgresql_the_defect_is_not_a_danger_to_the_log() -> None:
    assert doctor.sqlite((3, 46, 1), holds_the_log=False) == doctor.Finding("ok", "SQLite", "3.46.1")
    assert doctor.sqlite((3, 36, 0), holds_the_log=False).mark == "fail"


@pytest.mark.parametrize(("program", "advice"), [(None, "Install"), ("/usr/bin/bwrap", "is installed, but may not")])
def test_the_way_to_a_whole_fence_depends_on_what_is_missing(
    program: str | None, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that has bubblewrap, and a profile that allows it no namespaces."""
    monkeypatch.setattr("adapters.fence.choice.bubblewrap_works", lambda: False)
    monkeypatch.setattr("adapters.fence.choice.landlock_version", lambda: 6)
    monkeypatch.setattr("shutil.which", lambda _: program)
    finding = health.fence("auto")
    assert (finding.mark, advice in finding.advice) == ("warn", True)


def test_a_log_beside_programs_or_a_checkout_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fence hides the whole folder of the log."""
    tools, clone = tmp_path / "tools" / "bin", tmp_path / "clone"
    tools.mkdir(parents=True)
    (clone / ".git").mkdir(parents=True)
    (clone / ".git" / "HEAD").touch()
    monkeypatch.setenv("PATH", f"/usr/bin:{tools}:{tmp_path / 'missing'}")
    monkeypatch.chdir(clone)
    [finding] = health.beside_the_log(tmp_path / "hansard.db")
    found = f"it hides the log's folder {tmp_path}, and in it: {tools}, {clone}"
    assert (finding.mark, finding.name, finding.found) == ("warn", "fence", found)
    assert "HANSARD_DATABASE" in finding.advice
    assert list(health.beside_the_log(tmp_path / "log" / "hansard.db")) == []


def test_a_log_that_does_not_exist_yet_is_fine_where_it_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "hansard.db"
    assert doctor.place(path) == doctor.Finding("ok", "log", f"{path} (created at first use)")
    assert doctor.durability(path).mark == "ok"
    assert not (tmp_path / "a").exists()


def test_working_folders_are_counted_with_the_command_that_deletes_them(tmp_path: Path) -> None:
    (tmp_path / "workspaces").mkdir()
    assert "clean" not in doctor.disk(tmp_path / "h.db", tmp_path / "workspaces").found
    (tmp_path / "workspaces" / "delivery-1").mkdir()
    assert "working folders: 1 (`hansard clean`" in doctor.disk(tmp_path / "h.db", tmp_path / "workspaces").found


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    assert doctor.place(tmp_path).mark == "fail"


def test_a_log_that_cannot_be_written_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hansard.db"
    monkeypatch.setattr(os, "access", lambda *_: False)  # root can write everywhere, so file modes prove nothing
    assert doctor.place(path) == doctor.Finding(
        "fail", "log", f"{path} cannot be created: {tmp_path} is not writable", "Set HANSARD_DATABASE."
    )
    path.touch()
    assert doctor.place(path).found == f"{path} cannot be written"


def test_a_file_that_is_no_database_is_found(tmp_path: Path) -> None:
    path = tmp_path / "junk.db"
    path.write_bytes(b"no database at all, but long enough to be taken for one" * 10)
    result = doctor.durability(path)
    assert (result.mark, result.found) == ("fail", f"{path}: file is not a database")


def test_a_log_in_another_journal_mode_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (n)")
    connection.close()
    assert doctor.durability(path) == doctor.Finding(
        "warn", "durability", "the log has journal_mode=delete", "It becomes WAL when Hansard opens it."
    )


def test_clock_earlier_than_the_log_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "hansard.db"
    path.touch()
    os.utime(path, (1_800_000_000, 1_800_000_000))
    assert doctor.clock(path, now=1_800_000_010).mark == "ok"
    assert doctor.clock(path, now=1_799_999_000).mark == "warn"
    assert doctor.clock(tmp_path / "none", now=0.0).mark == "warn"


def test_programs_of_the_team_are_looked_for(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    team = tmp_path / "team.toml"
    team.write_text(
        f"""
[[agents]]
name = "dev"
roles = ["dev"]
adapter = "command"
settings = {{ argv = ["{program}", "-p"] }}
[[agents]]
name = "reviewer"
roles = ["reviewer"]
adapter = "command"
settings = {{ argv = ["no-such-agent-anywhere"] }}
[[agents]]
name = "planner"
roles = ["planner"]
adapter = "scripted"
"""
    )
    assert list(health.programs(load(team))) == [
        doctor.Finding("ok", "agent dev", str(program)),
        doctor.Finding(
            "fail",
            "agent reviewer",
            "no-such-agent-anywhere is not found",
            "Install it, or give its absolute path in the team file.",
        ),
    ]


@pytest.mark.parametrize(
    ("sandbox", "level", "mark"),
    [
        ("required", "landlock", "fail"),
        ("required", "none", "fail"),
        ("required", "bwrap", "ok"),
        ("auto", "landlock", "warn"),
        ("off", "bwrap", "warn"),
    ],
)
def test_a_list_of_hosts_that_would_be_refused_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Literal["auto", "required", "off"], level: str, mark: str
) -> None:
    team = tmp_path / "team.toml"
    team.write_text('[[agents]]\nname = "Ada"\npreset = "claude"\nnetwork = ["provider"]\n')
    monkeypatch.setattr("api.cli.health.available", lambda: level)
    assert [found.mark for found in health.networks(load(team), sandbox)] == [mark]
    project = Project.model_validate({"validation": {"network": ["example.com"]}}, strict=False)
    assert [found.mark for found in health.project_networks(project, sandbox)] == [mark]


@pytest.mark.parametrize("bin_is_set", [True, False])
def test_a_program_is_looked_for_where_the_agent_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bin_is_set: bool
) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    team = tmp_path / "team.toml"
    settings = '{ argv = ["agent"], env = { PATH = "env:AGENT_PATH" } }'
    team.write_text(f'[[agents]]\nname = "dev"\nroles = ["dev"]\nadapter = "command"\nsettings = {settings}\n')
    monkeypatch.delenv("AGENT_PATH", raising=False)
    if bin_is_set:
        monkeypatch.setenv("AGENT_PATH", str(tmp_path))
        expected = doctor.Finding("ok", "agent dev", str(program))
    else:
        unset = "PATH: environment variable 'AGENT_PATH' is unset or empty."
        expected = doctor.Finding("fail", "agent dev", unset, "Set it in Hansard's environment.")
    assert list(health.programs(load(team))) == [expected]


@pytest.mark.parametrize(
    ("roles", "missing"),
    [
        (
            "['dev']",
            "missing for a delivery: planner, architect, designer, reviewer;"
            " for an orchestration: planner, judge, assistant",
        ),
        (
            "['planner', 'judge', 'assistant', 'backend']",
            "missing for a delivery: architect, designer, dev, reviewer",
        ),
        ("['planner', 'architect', 'designer', 'dev', 'reviewer', 'judge', 'assistant']", None),
    ],
)
def test_roles_without_agents_give_a_warning(hansard: Hansard, tmp_path: Path, roles: str, missing: str | None) -> None:
    team = tmp_path / "team.toml"
    team.write_text(f'[[agents]]\nname = "Solo"\nroles = {roles}\nadapter = "scripted"\n')
    result = {item["name"]: item for item in hansard("doctor", "--team", str(team), "--json").json["items"]}
    assert result["team"]["found"] == f"{team}: 1 agent"
    assert (
        (result["roles"]["mark"], result["roles"]["found"]) == ("warn", missing) if missing else "roles" not in result
    )


def test_a_name_fills_a_post_like_a_role(tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    named = ("planner", "architect", "designer", "dev", "reviewer", "judge", "assistant")
    team.write_text("".join(f'[[agents]]\nname = "{n}"\nroles = ["custom"]\nadapter = "scripted"\n' for n in named))
    assert list(health.posts(load(team))) == []


def test_nothing_is_missing_here(hansard: Hansard, own_log: Path) -> None:
    result = hansard("doctor", "--json")
    marks = {item["name"]: item["mark"] for item in result.json["items"]}
    assert result.code == 0
    assert [name for name, mark in marks.items() if mark == "fail"] == []
    assert list(marks) == ["Python", "SQLite", "log", "durability", "git", "disk", "clock", "forge", "fence", "team"]
    assert marks["team"] == "warn"
    assert not own_log.parent.exists()


def test_a_broken_team_file_is_a_failure_with_advice(hansard: Hansard, tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text("agents = 3")
    result = hansard("doctor", "--team", str(team))
    assert result.code == 1
    line = next(line for line in result.out.splitlines() if line.startswith("fail"))
    assert line.startswith(f"fail  team        {team}: agents: ")
    assert result.out.endswith("Fix the file, or name another one in HANSARD_TEAM.\n")


def test_a_team_file_that_is_not_trusted_is_named(
    hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HANSARD_TEAM", "HANSARD_EXAMPLE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "hansard.toml").write_text('[delivery]\nteam = "team.toml"\n')
    (tmp_path / "team.toml").write_text('[[agents]]\nname = "Ada"\npreset = "claude"\n')
    monkeypatch.chdir(tmp_path)
    found = hansard("doctor").out
    assert f"{tmp_path / 'team.toml'} is not trusted, or has changed since: `hansard trust`" in " ".join(found.split())
    assert "no team file" not in found
    with (tmp_path / "hansard.toml").open("a") as settings:
        settings.write("[validation]\nnetwork = ['pypi', 'example.com']\n")
    assert "validation may reach pypi, example.com" in hansard("doctor").out
    (tmp_path / "hansard.toml").write_text("[validation")
    assert "fail  hansard.toml  hansard.toml: not TOML" in hansard("doctor").out
