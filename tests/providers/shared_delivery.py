"""Makes a shared file of a delivery by two real programs: Claude Code works, Codex reviews, and the stub stands in for
the providers of both.

`python -m tests.providers.shared_delivery docs/delivery.html`
"""

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

from api.share.check import checked
from tests.kit.replies import review
from tests.providers.conftest import TEST
from tests.providers.deliveries import runs, says
from tests.providers.programs import KEYS, installed, settings
from tests.providers.stub import Provider, Rule

FOLDER: Final = Path("/tmp/hansard-demo")
_ELSEWHERE: Final = ("bwrap", "--dev-bind", "/", "/", "--unshare-uts", "--hostname", "demo", "--")
"""A worker signs what it records with the name of its host."""
_KEY: Final = "sk-stub-0123456789"


def rules() -> list[Rule]:
    """Returns the answers: the first review finds what the fix forgot; the second finds nothing."""
    blocked = review("README.md:3 still says that `add` subtracts", score=60, fix_plan=["Say what `add` does"])
    blocked = blocked.replace("It is missing.", "Who reads it will not use `add`.")
    developer = [
        runs("sed -i 's/a - b/a + b/' calc.py"),
        says("`add` adds now; it had the wrong sign."),
        runs("sed -i 's/subtracts/adds/' README.md"),
        says("README.md says what `add` does."),
    ]
    return [
        Rule("You are the planner", [says("1. Change the sign in `add`.\n2. Run the test.")]),
        Rule("You are the architect", [says("One function in one file; keep it as it is.")]),
        Rule("You are the designer", [says("`add(a, b)` returns `a + b`.")]),
        Rule("You are the developer", developer),
        Rule("You are the reviewer", [says(blocked), says(review(score=95))]),
    ]


def team(url: str) -> str:
    """Returns the team file: Claude Code in all roles but that of the reviewer, which is Codex."""
    limits = "timeout_seconds = 600\nidle_seconds = 300"
    agents = {"claude": '"planner", "architect", "designer", "dev"', "codex": '"reviewer"'}
    return "\n".join(
        f'[[agents]]\nname = "{name.title()}"\npreset = "{name}"\nroles = [{roles}]\n'
        f"[agents.settings]\n{limits}\n{settings(name, url)}"
        for name, roles in agents.items()
    )


def repository(folder: Path) -> None:
    """Makes a repository with a failing test, and a document that is as wrong as the code."""
    folder.mkdir(parents=True)
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "test_calc.py").write_text(TEST)
    (folder / "README.md").write_text("# Calc\n\n`add` subtracts.\n")
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "Start"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)


def environment() -> dict[str, str]:
    """Returns of this machine only what programs need to start."""
    programs = [str(installed(name)) for name in ("claude", "codex")]
    node = Path(shutil.which("node") or "node").parent
    path = os.pathsep.join([*programs, str(Path(sys.executable).parent), str(node), "/usr/bin", "/bin"])
    folders = {"HOME": str(FOLDER / "home"), "HANSARD_DATA_DIR": str(FOLDER / "data")}
    files = {"HANSARD_DATABASE": str(FOLDER / "data" / "hansard.db"), "HANSARD_TEAM": str(FOLDER / "team.toml")}
    who = {"USER": "ada", "LOGNAME": "ada", "LANG": "C.UTF-8"}
    return {"PATH": path, **folders, **files, **who, **dict.fromkeys(KEYS, _KEY)}


def traces(html: str) -> list[str]:
    """Returns what of this machine, or of a key, is in the file, in its page or in its record."""
    record = checked(html.encode()).record
    assert record is not None
    text = "\n".join((html, *record.strings()))
    root = Path(__file__).parents[2]
    words = {_KEY, socket.gethostname(), str(root), str(Path.home()), *map(str, map(installed, ("claude", "codex")))}
    if getpass.getuser() != "root":  # the name of an account on every machine
        words.add(getpass.getuser())
    return sorted(word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text))


def made(out: Path) -> None:
    """Runs the delivery, shares it, and checks the file."""
    variables = environment()

    def hansard(*words: str) -> None:
        program = [*_ELSEWHERE, str(Path(sys.executable).parent / "hansard")]
        subprocess.run([*program, *words], cwd=FOLDER / "shop", env=variables, check=True)

    if FOLDER.exists():
        raise SystemExit(f"{FOLDER} is there already; remove it")
    try:
        repository(FOLDER / "shop")
        for name in ("home", "data"):
            (FOLDER / name).mkdir()
        with Provider(rules=rules()) as provider:
            (FOLDER / "team.toml").write_text(team(provider.url))
            task = ["-t", "Fix add, which subtracts", "-f", "calc.py,README.md", "--test", "python3 test_calc.py"]
            hansard("run", *task, "--max-iterations", "3")
            hansard("share", "latest", "--out", str(FOLDER / "delivery.html"), "--yes")
            hansard("verify", str(FOLDER / "delivery.html"))
        html = (FOLDER / "delivery.html").read_text("utf-8")
        if found := traces(html):
            raise SystemExit(f"in the file: {', '.join(found)}")
        out.write_text(html, "utf-8")
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    made(Path(sys.argv[1]).resolve())
