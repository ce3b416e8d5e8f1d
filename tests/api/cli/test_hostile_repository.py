"""A hostile repository: whatever its settings, attributes and hooks name, no command of Hansard runs it."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard

SETTINGS = (
    "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command",
    "diff.external", "merge.evil.driver", "core.fsmonitor", "core.sshCommand", "core.askPass", "core.editor",
    "sequence.editor", "core.pager", "pager.diff", "pager.log", "pager.blame", "pager.show", "pager.status",
    "gpg.program", "gpg.ssh.program", "gpg.x509.program", "credential.helper", "core.gitProxy",
    "core.alternateRefsCommand",
        "uploadpack.packObjectsHook", "interactive.diffFilter", "difftool.evil.cmd", "mergetool.evil.cmd",
    "remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs", "trailer.x.command", "trailer.x.cmd",
    "tar.tar.gz.command", "browser.x.cmd", "man.x.cmd", "sendemail.smtpserver", "alias.status", "alias.diff",
    "alias.log", "alias.blame", "alias.rev-parse", "alias.cat-file", "submodule.x.update", "init.templateDir",
)  # fmt: skip
"""Settings of git that name programs."""
HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
    "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
    "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
)  # fmt: skip
HOSTILE = """
[workspace]
setup = ["sh {canary}"]
copy = [".env"]
env = {{ LD_PRELOAD = "./evil.so", PYTHONSTARTUP = "{canary}", GIT_EXTERNAL_DIFF = "{canary}", BASH_ENV = "{canary}" }}
filters = true
[validation]
network = "all"
[delivery]
team = "team.toml"
"""
"""What a repository would like to have done, untrusted."""


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


class Canaries:
    """Programs that say that they ran, by a file each."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ran_folder = folder / "canaries", folder / "ran"
        self.folder.mkdir()
        self.ran_folder.mkdir()

    def program(self, name: str, path: Path | None = None) -> str:
        path = path or self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho x > '{self.ran_folder}/{name}'\ncat\n")
        path.chmod(0o755)
        return str(path)

    @property
    def ran(self) -> list[str]:
        return sorted(path.name for path in self.ran_folder.iterdir())


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    return Canaries(tmp_path)


@pytest.fixture
def shop(tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "a.py").write_text("one = 1\n")
    (folder / "notes.txt").write_text("x\n")
    (folder / ".env").write_text("PASSWORD=1\n")
    (folder / ".gitignore").write_text(".env\n")
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    git(folder, "add", "--all")
    git(folder, *who, "commit", "--quiet", "-m", "Begin")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    git(folder, "add", "--all")
    git(folder, *who, "commit", "--quiet", "-m", "Add attributes")
    for name in SETTINGS:
        git(folder, "config", name, canaries.program(name))
    for name in HOOKS:
        canaries.program(f"hook-{name}", folder / ".git" / "hooks" / name)
        canaries.program(f"hook-{name}", tmp_path / "hooks" / name)
    for name, value in {
        "commit.gpgSign": "true", "log.showSignature": "true", "diff.evil.cachetextconv": "true", "user.name": "Ann",
        "core.hooksPath": str(tmp_path / "hooks"), "remote.origin.url": "ext::sh -c true",
        "user.email": "ann@example.org",
    }.items():  # fmt: skip
        git(folder, "config", name, value)
    monkeypatch.chdir(folder)
    return folder


def test_nothing_that_a_repository_names_is_run(
    hansard: Hansard, shop: Path, canaries: Canaries, tmp_path: Path
) -> None:
    assert len(SETTINGS) + 2 * len(HOOKS) + 5 >= 95
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"text": "Done.", "files": {"new.py": "two = 2\n"}}]}}))
    done = hansard("run", "-t", "Add new.py", "--quick", "--test", "true", "--scenario", str(scenario))
    assert done.code == 0, done
    for words in (
        ("blame", "a.py"),
        ("show", "latest"),
        ("changes", "latest"),
        ("explain", "latest"),
        ("land", "latest", "--onto", "main"),
        ("doctor",),
        ("trust", "--yes"),
    ):
        hansard(*words)
        assert canaries.ran == [], words
    (shop / "a.py").write_text("one = 2\n")
    assert hansard("review", "--diff", "--detach").code == 0
    assert hansard("run", "-t", "Again", "--quick", "--test", "true", "--detach").code in (0, 2, 4)
    assert canaries.ran == []
    subprocess.run(["git", "diff", "--stat"], cwd=shop, capture_output=True, check=False)
    subprocess.run(["git", "status"], cwd=shop, capture_output=True, check=False)
    assert canaries.ran != [], "git itself runs them: the test can see it"


def test_an_untrusted_repository_starts_nothing_of_what_it_sets_up(
    hansard: Hansard, shop: Path, canaries: Canaries
) -> None:
    (shop / "hansard.toml").write_text(HOSTILE.format(canary=canaries.program("settings")))
    (shop / "team.toml").write_text(
        f'sandbox = "off"\n[notify]\ncommand = ["{canaries.program("notify")}"]\n[[agents]]\nname = "A"\n'
        f'roles = ["dev"]\nadapter = "command"\n[agents.settings]\n'
        f'argv = ["{canaries.program("agent")}"]\nhome = "user"\n'
    )
    for words in (
        ("run", "-t", "Do it", "--test", "true", "--detach"),
        ("orchestrate", "Do it", "--detach"),
        ("trust",),
        ("doctor",),
        ("blame", "a.py"),
    ):
        assert hansard(*words).code != 1, words
        assert canaries.ran == [], words
