"""Given: folders and repositories as a person, or an agent, leaves them."""

import os
import subprocess
from pathlib import Path


def git(folder: Path, *args: str) -> str:
    """Git as a person (or an agent) uses it."""
    who = {f"GIT_{role}_{what}": "someone" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **who}
    command = ["git", "-c", "protocol.file.allow=always", *args]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    """Every file below, outside of `.git`; links as their targets."""
    result = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if ".git" in name.parts or not (path.is_file() or path.is_symlink()):
            continue
        result[str(name)] = f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
    return result


SOURCE = {"a.txt": "a\n", "src/b.py": "b\n", "한 글/ü x.md": "k\n", ".gitignore": "*.log\n.venv/\n"}


def plant(folder: Path, marker: Path) -> None:
    """Everything that makes a git run in this folder execute something."""
    script = marker.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran >> '{marker}'\ncat\n")
    script.chmod(0o755)
    for key in (
        *("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external"),
        *("diff.evil.textconv", "diff.evil.command", "core.sshCommand", "core.pager", "core.editor", "gpg.program"),
        *("core.alternateRefsCommand", "uploadpack.packObjectsHook", "merge.evil.driver"),
    ):
        git(folder, "config", key, str(script))
    git(folder, "config", "filter.evil.required", "true")
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-commit"):
        (hooks / hook).symlink_to(script)
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
