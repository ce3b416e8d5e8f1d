"""Nobody waits in silence: what a session waits for, and who could do it, is said at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard
from tests.api.server import Server

TEAM = '[[agents]]\nname = "{}"\nadapter = "scripted"\nroles = ["planner", "assistant", "reviewer", "critic"]\n'


def team(folder: Path, name: str) -> str:
    file = folder / f"{name}.toml"
    file.write_text(TEAM.format(name))
    return str(file)


@pytest.fixture
def foreign(own_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server on the same log whose team does not have the agents of the session."""
    node = tmp_path / "node"
    monkeypatch.setenv("HANSARD_DATABASE", str(own_log))
    monkeypatch.setenv("HANSARD_DATA_DIR", str(node))
    server = Server(tmp_path, database=f"sqlite:///{own_log}", data_dir=node, team=team(tmp_path, "Bea"))
    server.start()
    yield server
    server.leave()


def begun(hansard: Hansard, tmp_path: Path) -> str:
    result = hansard("review", "x = 1/0", "--detach", "--team", team(tmp_path, "Ada"))
    assert result.code == 0, result.err
    return result.out.strip()


def test_a_start_that_nobody_works_on_says_so(hansard: Hansard, tmp_path: Path) -> None:
    result = hansard("review", "x = 1/0", "--detach", "--team", team(tmp_path, "Ada"))
    assert "Waits for Ada (" in result.err and "hansard resume" in result.err


def test_explain_names_the_wait(hansard: Hansard, tmp_path: Path) -> None:
    name = begun(hansard, tmp_path)
    assert "Waits for Ada (" in hansard("explain", name).err


def test_a_worker_with_another_team_is_not_taken_for_one_who_works_on_it(
    hansard: Hansard, foreign: Server, tmp_path: Path
) -> None:
    result = hansard("review", "x = 1/0", "--detach", "--team", team(tmp_path, "Ada"))
    assert "another team" in result.err and "hansard resume" in result.err


def test_a_session_that_nobody_else_can_do_is_resumed_here(hansard: Hansard, foreign: Server, tmp_path: Path) -> None:
    name = begun(hansard, tmp_path)
    result = hansard("resume", name, "--team", team(tmp_path, "Ada"))
    assert "This process works on it." in result.err
    assert result.code == 6, result.err


def test_who_resumes_while_commands_run_elsewhere_goes_on_with_the_agents(
    hansard: Hansard, foreign: Server, tmp_path: Path
) -> None:
    """Any worker runs the baseline; the turns after it need the agents of this team."""
    roles = '"planner", "architect", "designer", "dev", "reviewer"'
    file = tmp_path / "all.toml"
    file.write_text(f'[[agents]]\nname = "Ada"\nadapter = "scripted"\nroles = [{roles}]\n')
    started = hansard("run", "-t", "x", "--test", "true", "--fresh", "--detach", "--team", str(file))
    assert started.code == 0, started.err
    result = hansard("resume", started.out.strip(), "--team", str(file))
    assert "This process works on it." in result.err
    assert result.code == 0, result.err


def test_a_folder_that_git_does_not_know_is_not_left_aside_in_silence(hansard: Hansard) -> None:
    Path("a.py").write_text("x = 1\n")
    for words in (("run", "-t", "Fix it", "--test", "true"), ("orchestrate", "Fix it"), ("message", "Fix it")):
        result = hansard(*words)
        assert result.code == 2
        assert "git init" in result.err and "--workspace ." in result.err
    assert hansard("list").out == ""


@pytest.mark.parametrize(
    ("words", "place"), [(("--workspace", "."), "edited in place"), (("--fresh",), "empty folder")]
)
def test_a_folder_that_git_does_not_know_works_where_that_is_asked_for(
    hansard: Hansard, words: tuple[str, ...], place: str
) -> None:
    Path("a.py").write_text("x = 1\n")
    result = hansard("run", "-t", "Fix it", "--test", "true", *words)
    assert result.code == 0 and place in result.err
