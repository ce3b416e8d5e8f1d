"""`findings`, `lab --policy findings@1`, `changes --map`, `share` and `verify FILE` from a user's point of view."""

import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard
from tests.api.cli.kept import repository
from tests.api.seen import review


@pytest.fixture
def reviewed(hansard: Hansard, scenario: Callable[..., str], tmp_path: Path) -> str:
    """A delivery that a reviewer sent back once."""
    repository(tmp_path / "here")
    replies = {
        "dev": [{"text": "Done.", "files": {"b.txt": "two\n"}}, {"text": "Mended.", "files": {"b.txt": "2\n"}}],
        "reviewer": [review("b.txt:1 is a word, not a number"), review()],
    }
    run = hansard("run", "-t", "Write", "--test", "true", "--scenario", scenario(replies), "--json")
    assert run.code == 0, run.err
    return str(run.json["id"])


def test_findings_have_their_life_and_state(hansard: Hansard, reviewed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = hansard("findings", reviewed).out.splitlines()
    assert lines[0].startswith("✓ F1") and lines[0].endswith("b.txt:1")
    assert "raised 1" in lines[1] and "fixed 2" in lines[1]
    assert "lines changed, and not repeated" in lines[2]
    assert hansard("findings", reviewed, "--open").err.startswith("There are no open findings.")
    assert [item["state"] for item in hansard("findings", reviewed, "--json").json["items"]] == ["fixed"]
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert "고침" in hansard("findings", reviewed).out


def test_the_lab_says_where_findings_would_have_ended_it(hansard: Hansard, reviewed: str) -> None:
    result = hansard("lab", "--policy", "findings@1", "--json")
    [item] = result.json["items"]
    assert (item["sessionId"], item["rounds"], item["open"]) == (reviewed, 2, [])
    assert "would have" in hansard("lab", "--policy", "findings@1", reviewed).out
    assert hansard("lab", "--policy", "findings@1", "--profile", "seed").code == 2
    assert hansard("lab", "--kind", "delivery").code == 2
    assert hansard("lab", "--policy", "findings@2").code == 2


def test_the_map_has_the_reasons(hansard: Hansard, reviewed: str) -> None:
    lines = hansard("changes", reviewed, "--map").out.splitlines()
    assert lines[0] == "b.txt:1" and lines[1].startswith("  written by a fix (")
    assert "  +2" in lines
    assert hansard("changes", reviewed, "--map", "--json").json["items"][0]["path"] == "b.txt"


def test_a_session_is_shared_and_checked(hansard: Hansard, reviewed: str, tmp_path: Path) -> None:
    file = tmp_path / "session.html"
    result = hansard("share", reviewed, "-o", str(file))
    assert (result.code, result.out) == (0, f"{file}\n")
    assert "Paths in the file: " in result.err
    assert re.search(rf"^Hosts in the file: .*\b{re.escape(os.uname().nodename)}\b", result.err, re.MULTILINE)
    assert hansard("verify", str(file)).code == 0
    key = hansard("checkpoint", "--public-key").out.strip()
    assert hansard("verify", str(file), "--public-key", key).code == 0
    html = file.read_bytes()
    at = html.index(b"<h1>") + 5
    file.write_bytes(html[:at] + bytes([html[at] ^ 1]) + html[at + 1 :])
    changed = hansard("verify", str(file))
    assert changed.code == 8 and f"Byte {at + 1} was changed: in the head" in changed.out
    assert hansard("verify", str(tmp_path / "none.html")).code == 2
    assert hansard("share", reviewed, "--with", "passwords").code == 2
    assert hansard("share", reviewed, "-o", str(tmp_path)).code == 2, "a folder is no file"
    assert hansard("share", "nothing").code == 3
    assert hansard("share", reviewed, "-o", "--yes").code == 2
    assert hansard("share", reviewed, "-o", "-").out.startswith("<!doctype html>")


def test_a_key_that_is_not_known_here_is_named(
    hansard: Hansard, reviewed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "session.html")
    assert "No team file is read here" in hansard("share", reviewed, "-o", file).err
    team = tmp_path / "team.toml"
    team.write_text(
        '[[agents]]\nname = "Ada"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
        'adapter = "command"\n[agents.settings]\nargv = ["true"]\nenv = { ADA_KEY = "env:ADA_KEY" }\n'
    )
    monkeypatch.setenv("HANSARD_TEAM", str(team))
    assert (
        "Not set here, so a text that holds it is not left out: ADA_KEY." in hansard("share", reviewed, "-o", file).err
    )
    monkeypatch.setenv("ADA_KEY", "Mended.")
    result = hansard("share", reviewed, "-o", file)
    assert "Not set here" not in result.err and "Left out because they hold a secret" in result.err


def test_the_keys_of_the_sessions_own_team_are_left_out_from_everywhere(
    hansard: Hansard, reviewed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here" / "team.toml").write_text(
        '[[agents]]\nname = "Ada"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
        'adapter = "command"\n[agents.settings]\nargv = ["true"]\nenv = { ADA_KEY = "env:ADA_KEY" }\n'
    )
    (tmp_path / "here" / "hansard.toml").write_text('[delivery]\nteam = "team.toml"\n')
    assert hansard("trust", "--yes").code == 0
    monkeypatch.setenv("ADA_KEY", "Mended.")
    monkeypatch.chdir(tmp_path)
    result = hansard("share", reviewed, "-o", str(tmp_path / "session.html"))
    assert "Left out because they hold a secret" in result.err, result.err


def test_at_a_terminal_nothing_is_written_before_a_yes(
    hansard: Hansard, reviewed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.cli.share.is_interactive", lambda: True)
    file = tmp_path / "asked.html"
    for answer, code in (("", 4), ("n\n", 4), ("maybe\n", 4), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        result = hansard("share", reviewed, "-o", str(file))
        assert (result.code, file.exists()) == (code, code == 0), answer
        assert "Write the file? [y/N]" in result.err and "Paths in the file: " in result.err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert hansard("share", reviewed, "--yes", "-o", str(tmp_path / "given.html")).code == 0
