"""`hansard init` and `hansard trust`: the settings of a repository and the user's trust in them."""

from pathlib import Path

import pytest

from api.cli.main import carry_out


@pytest.fixture(autouse=True)
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANSARD_DATABASE", str(tmp_path / "log" / "hansard.db"))
    monkeypatch.setenv("HANSARD_DATA_DIR", str(tmp_path / "node"))
    (tmp_path / "shop").mkdir()


SETUP = '[workspace]\nsetup = ["true"]\n[validation]\ncommands = ["true"]\n'


def test_init_writes_and_trusts_detected_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop" / "package.json").write_text('{"scripts": {"test": "vitest"}}')
    assert carry_out(["init", str(tmp_path / "shop")]) == 0
    text = (tmp_path / "shop" / "hansard.toml").read_text()
    assert "npm install" in text and "npm test" in text
    assert "validation: npm test" in capsys.readouterr().out
    assert str(tmp_path / "shop") in (tmp_path / "node" / "trust.json").read_text()


@pytest.mark.parametrize("named", ["", "agents.toml"])
def test_init_misses_no_agent_program_where_a_team_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("HANSARD_TEAM", named)
    assert carry_out(["init", str(tmp_path / "shop")]) == 0
    said = capsys.readouterr().err
    assert ("No agent program on PATH" in said) is (named == "")
    assert ("The agents are those of agents.toml, which HANSARD_TEAM names." in said) is (named != "")


def test_init_names_a_team_file_that_was_there_and_does_not_trust_it_unread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("HANSARD_TEAM", raising=False)
    folder = tmp_path / "shop"
    (folder / "team.toml").write_text('[[agents]]\nname = "Zoe"\nroles = ["dev"]\nadapter = "scripted"\n')
    assert carry_out(["init", str(folder)]) == 0
    said = capsys.readouterr().err
    assert 'team = "team.toml"' in (folder / "hansard.toml").read_text()
    assert "`hansard trust` shows both" in said and "No agent program" not in said
    assert not (tmp_path / "node" / "trust.json").exists()
    assert carry_out(["init", str(folder)]) == 0
    assert "To use team.toml" not in capsys.readouterr().err
    (folder / "hansard.toml").write_text(SETUP)
    assert carry_out(["init", str(folder)]) == 0
    assert 'add this to hansard.toml: [delivery] team = "team.toml"' in capsys.readouterr().err


def test_init_says_what_it_did_not_find_in_the_language_of_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert carry_out(["init", str(tmp_path / "shop")]) == 0
    assert "테스트 명령을 찾지 못했습니다. [validation] commands에 추가하세요" in capsys.readouterr().out


def test_trust_names_no_option_that_it_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert carry_out(["run", "-t", "x", "--test", "true", "--fresh", "--detach"]) == 0
    (tmp_path / "shop" / "hansard.toml").write_text("[workspace]\nsetup = 5\n")
    capsys.readouterr()
    assert carry_out(["trust", str(tmp_path / "shop")]) == 2
    assert "--workspace" not in capsys.readouterr().err


def test_init_overwrites_nothing_and_trusts_nothing_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop" / "hansard.toml").write_text(SETUP)
    assert carry_out(["init", str(tmp_path / "shop")]) == 0
    assert (tmp_path / "shop" / "hansard.toml").read_text() == SETUP
    assert "already exists; not changed" in capsys.readouterr().err
    assert not (tmp_path / "node" / "trust.json").exists()


def test_a_run_needs_trust_and_says_which_command_gives_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    (folder / "hansard.toml").write_text(SETUP)
    run = ["run", "-t", "Add a page", "--workspace", str(folder), "--detach"]
    assert carry_out(run) == 5
    assert f"hansard trust {folder}" in capsys.readouterr().err
    assert carry_out(["trust", str(folder), "--yes"]) == 0
    assert "set-up: true" in capsys.readouterr().out
    assert carry_out(run) == 0


def test_the_team_of_the_settings_does_the_work_once_it_is_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    (folder / "hansard.toml").write_text('[delivery]\nteam = "team.toml"\n[validation]\ncommands = ["true"]\n')
    roles = '["planner", "architect", "designer", "dev", "reviewer"]'
    agent = f'[[agents]]\nname = "Zoe"\nadapter = "scripted"\nroles = {roles}\n'
    (folder / "team.toml").write_text(agent)
    run = ["run", "-t", "Add a page", "--detach", "--json", "--workspace", str(folder)]
    assert carry_out(run) == 5
    assert carry_out(["trust", str(folder), "--yes"]) == 0
    assert "team: team.toml" in capsys.readouterr().out
    assert carry_out(run) == 0
    assert carry_out(["events", "latest", "--json"]) == 0
    assert '"dev":"Zoe"' in capsys.readouterr().out.replace(" ", "")
    monkeypatch.chdir(folder)
    assert carry_out(["team", "--json"]) == 0
    assert "Zoe" in capsys.readouterr().out


def test_trust_is_shown_before_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    (folder / "setup.sh").write_text("true\n")
    (folder / "agent.py").write_text("print('hello')\n")
    (folder / "hansard.toml").write_text(
        '[workspace]\nsetup = ["./setup.sh"]\ncopy = [".env"]\nlink = ["deps"]\nnetwork = ["pypi"]\n'
        '[validation]\nnetwork = "all"\n[delivery]\nteam = "team.toml"\n'
    )
    (folder / "team.toml").write_text(
        f'sandbox = "off"\n[notify]\ncommand = ["notify-send"]\n[[agents]]\nname = "Zoe"\nroles = ["dev"]\n'
        f'adapter = "command"\nnetwork = ["provider"]\n[agents.settings]\nargv = ["python3", "{folder}/agent.py"]\n'
        'home = "user"\n'
    )
    assert carry_out(["trust", str(folder)]) == 2
    seen = capsys.readouterr()
    for words in (
        "set-up: ./setup.sh",
        "network of set-up: pypi",
        "network of validation: all addresses",
        "copy: agents get .env",
        "link: agents see deps",
        "runs agent.py (",
        "runs setup.sh (",
        "team: team.toml",
        "sandbox: off",
        "notifies by: notify-send",
        f"agent Zoe: python3 {folder}/agent.py (your home folder; network: provider)",
    ):
        assert words in seen.out
    assert "--yes" in seen.err
    assert carry_out(["run", "-t", "Add a page", "--workspace", str(folder), "--detach"]) == 5
    assert carry_out(["trust", str(folder), "--yes"]) == 0
    for json in ([], ["--json"]):
        capsys.readouterr()
        assert carry_out(["trust", str(folder), *json]) == 0, "nobody has to be asked"
        seen = capsys.readouterr()
        assert '"trusted": true' in seen.out if json else f"{folder} is already trusted." in seen.err, seen
    (folder / "agent.py").write_text("print('evil')\n")
    assert carry_out(["trust", str(folder)]) == 2, "but about other settings"
    capsys.readouterr()
    assert carry_out(["run", "-t", "Add a page", "--workspace", str(folder), "--detach"]) == 5
