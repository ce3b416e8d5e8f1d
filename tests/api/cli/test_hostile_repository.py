"""A hostile repository: whatever its settings, attributes and hooks name, no command of Hansard runs it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from adapters.fence.bubblewrap import bubblewrap_works
from tests.adapters.fence.test_hostile_variables import VARIABLES
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
[[service]]
name = "evil"
command = "sh {canary}"
ready = "sh {canary}"
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


FILES = (
    "sitecustomize.py", "usercustomize.py", "conftest.py", "os.py", "json.py", "ctypes.py", "marshal.py", "struct.py",
    "bin/git", "bin/bwrap", "bin/sh", "bin/python3", "bin/nsenter", "bin/ps", "bin/env", ".bashrc", ".profile",
    ".pythonrc.py", ".gitconfig", ".envrc", "Makefile", "pyvenv.cfg",
)  # fmt: skip
"""Files of a repository that one of our programs might load or run by their names."""
PRELOADED = """
#include <fcntl.h>
__attribute__((constructor)) static void begin(void) { open("@RAN@/library", O_CREAT | O_WRONLY, 0600); }
"""


@pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap does not work here")
def test_what_a_trusted_repository_sets_runs_inside_only(
    hansard: Hansard, shop: Path, canaries: Canaries, tmp_path: Path
) -> None:
    """Its variables, files, set-up, service and commands run; outside of the fence none of them does."""
    for name in FILES:
        canaries.program(name.replace("/", "-"), shop / name)
        if name.endswith(".py"):
            (shop / name).write_text(f"open({str(canaries.ran_folder / name)!r}, 'w')\n")
    canary, library = "evil.sh", shop / "evil.so"
    canaries.program("variable", shop / canary)
    (shop / "evil.py").write_text(f"open({str(canaries.ran_folder / 'module')!r}, 'w')\n")
    if shutil.which("gcc"):
        (tmp_path / "evil.c").write_text(PRELOADED.replace("@RAN@", str(canaries.ran_folder)))
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "evil.c")], check=True)
    libraries = {
        "LD_PRELOAD": "./evil.so",
        "LD_AUDIT": "./evil.so",
        "LD_LIBRARY_PATH": "./",
        "PATH": "./bin:/usr/bin:/bin",
    }
    broken = {"PYTHONHOME", "PYTHONPLATLIBDIR", "IFS", "SHELLOPTS", "BASHOPTS", "GIT_DIR", "GCONV_PATH"}
    env = {name: "./evil.sh" for name in VARIABLES if name not in broken} | libraries | {"PYTHONPATH": "./"}
    assert len(env) + len(FILES) + len(SETTINGS) + len(HOOKS) >= 100
    pairs = ", ".join(f'{name} = "{value}"' for name, value in env.items())
    (shop / "hansard.toml").write_text(
        f'[workspace]\nsetup = ["/bin/sh ./evil.sh"]\nenv = {{ {pairs} }}\n[validation]\ncommands = ["true"]\n'
        '[[service]]\nname = "evil"\ncommand = "/bin/sh -c \'/bin/sh ./evil.sh; /bin/sleep 60\'"\n'
    )
    git(shop, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat",
        "-c", "filter.evil.process=", "add", "--all")  # fmt: skip
    git(shop, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false",
        "-c", "filter.evil.clean=cat", "-c", "filter.evil.process=", "commit", "-qm", "Evil")  # fmt: skip
    for path in canaries.ran_folder.iterdir():
        path.unlink()  # what our own git above has run
    assert hansard("trust", "--yes").code == 0
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"text": "Done.", "files": {"new.txt": "two\n"}}]}}))
    done = hansard("run", "-t", "Add new.txt", "--quick", "--scenario", str(scenario))
    assert done.code == 0, done
    for words in (("show", "latest"), ("changes", "latest"), ("blame", "a.py"), ("land", "latest"), ("doctor",)):
        assert hansard(*words).code != 2, words
    assert canaries.ran == []
