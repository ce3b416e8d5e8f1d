"""The commands that documents show, run: blocks marked ```console, `$ command` followed by what it says.

All blocks of a document are one story: they run in one folder, on one log, in order. `python -m tests.docs.commands`
writes what they say now into the documents.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tests.kit.programs import Program, started

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VOLATILE = (
    (r"Validated by /.*", "Validated by …"),  # the interpreter of this machine
    (r"\bperson:[\w.@-]+", "person:…"),
    (r"(?m)^(\d+\.) [\w.@-]+:", r"\1 …:"),  # who gave a command, in `explain`
    (r"/\S*?/home\b", "~"),
    (r"\b(delivery|orchestration|review|debate|channel)-[0-9a-z]{8,}", r"\1-…"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "…"),
    (r"\b\d{4}-\d\d-\d\d\b", "…"),
    (r"\d\d:\d\d:\d\d(\.\d+)?", "…"),
    (r"\b\d+:\d\d\b", "…"),
    (r"\b[0-9a-f]{7,}…?", "…"),
    (r"[0-9A-Za-z+/]{40,}={0,2}", "…"),
    (r"elapsedMs=\d+", "elapsedMs=…"),
    (r"\b\d+(\.\d+)? ?s\b", "… s"),
    (r"(?m)^(c\d+  .*  )\S+$", r"\1…"),  # who has commented
    (r" +", " "),
)
"""What differs from one run to the next."""
NO_SHELL = re.compile(r"""[^|&;<>$`*?(~#\\]*""")
"""A command that means the same without a shell."""


def documents() -> list[Path]:
    return [path for path in sorted(DOCS.glob("*.md")) if BLOCK.search(path.read_text("utf-8"))]


def plain(words: str) -> str:
    for pattern, instead in VOLATILE:
        words = re.sub(pattern, instead, words)
    return "\n".join(line.rstrip() for line in words.splitlines())


def shown(document: str) -> Iterator[tuple[str, str]]:
    """Each command of a document, and what the document says that it says."""
    for block in BLOCK.findall(document):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


class Terminal:
    """A folder of its own, as a person would use it. `programs` is a folder with replacements for programs that
    the document needs."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._home = self._here = folder / "home"
        self._home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
        path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), kept.get("PATH", "")])
        ours = {"HOME": str(self._home), "PATH": path, "TZ": "UTC", "COLUMNS": "100", "NO_COLOR": "1"}
        ours |= {"ANTHROPIC_API_KEY": "sk-documents", "GIT_CONFIG_GLOBAL": str(self._home / ".gitconfig")}
        self._environment = kept | ours | {"HANSARD_DATABASE": f"sqlite:///{self._home}/hansard.db"}

    def says(self, command: str) -> str:
        """All output of a command, in order; the exit code of a failure is in the last line, as `echo $?`."""
        if re.fullmatch(r"cd \S+", command):
            self._here = self._here / command.removeprefix("cd ")
            return ""
        with tempfile.TemporaryFile() as output:
            self._start(command, output).wait(180)
            output.seek(0)
            return output.read().decode().replace(str(self._home), "~")

    def _start(self, command: str, output: IO[bytes]) -> Program:
        """Start a command. Our program starts sooner where it needs nothing of a shell."""
        if command.startswith("hansard ") and NO_SHELL.fullmatch(command):
            return started(shlex.split(command)[1:], env=self._environment, output=output, folder=self._here)
        return subprocess.Popen(
            ["sh", "-c", f"exec 2>&1; {command}"],
            cwd=self._here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
        )


def programs_of(document: Path) -> Path:
    """The replacements for the programs that a document needs, if any."""
    return Path(__file__).with_name("programs") / document.stem


def rewritten(document: str, programs: Path) -> str:
    """The document with what its commands say now."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(Path(folder), programs)

        def block(found: re.Match[str]) -> str:
            commands = re.findall(r"^\$ (.*)$", found[1], re.MULTILINE)
            return "```console\n" + "".join(f"$ {command}\n{terminal.says(command)}" for command in commands) + "```"

        return BLOCK.sub(block, document)


if __name__ == "__main__":
    for path in documents():
        path.write_text(rewritten(path.read_text("utf-8"), programs_of(path)), encoding="utf-8")
