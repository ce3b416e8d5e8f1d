"""People who rewrite a repository at random, and a model that knows of each line who wrote it.

Every line that anybody writes is a word of its own: the same word is the same line, wherever it went. The model looks
at nothing but the words; a failure names the seed and what was done.
"""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2 as httpx

from tests.api.lines import Place, Removals, new_repository

PEOPLE: Final = ""
TRAILERS: Final = "%(trailers:only,unfold)"
_FIRST_LETTER: Final = 0x4E00


def letter(number: int) -> str:
    """One letter, as git-ai's own test has it."""
    return chr(_FIRST_LETTER + number)


def statement(number: int) -> str:
    return f"value_{number:05} = compute({number})"


@dataclass
class Score:
    lines: int = 0
    right: int = 0
    false: int = 0
    restored: int = 0

    def add(self, other: "Score") -> None:
        self.lines += other.lines
        self.right += other.right
        self.false += other.false
        self.restored += other.restored


@dataclass
class Rewriter:
    """One repository, one seed. `owners` has the session that wrote each word, with no entry for a person's;
    `restored` has the agents' words that people brought back."""

    place: Place
    chance: random.Random
    word: Callable[[int], str]
    owners: dict[str, str] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    restored: set[str] = field(default_factory=set)
    removals: Removals = field(init=False)

    def __post_init__(self) -> None:
        self.removals = Removals(self.place)

    # -- what the repository has --------------------------------------------------------------------------------------

    def files(self) -> list[str]:
        return sorted(self.place.git("ls-files").split("\n"))

    def some_file(self) -> str:
        return self.chance.choice(self.files())

    def fresh(self, count: int, owner: str = PEOPLE) -> list[str]:
        words = [self.word(next(self.numbers)) for _ in range(count)]
        self.owners.update(dict.fromkeys(words, owner))
        return words

    def block(self, lines: list[str]) -> tuple[int, int]:
        start = self.chance.randrange(len(lines)) if lines else 0
        return start, min(len(lines), start + self.chance.randint(1, 5))

    def edited(self, owner: str = PEOPLE) -> dict[str, list[str]]:
        """A file with some lines written, changed, taken out, moved or indented."""
        path = self.some_file()
        lines = self.place.lines(path)
        at = self.chance.randint(0, len(lines))
        start, end = self.block(lines)
        grows = len(lines) < 60
        match self.chance.choice(["write", "write", "change", "remove", "move", "indent", "carry"]):
            case "write" if grows:
                lines[at:at] = self.fresh(self.chance.randint(1, 5), owner)
            case "change":
                lines[start : start + 1] = self.fresh(1, owner)
            case "remove":
                del lines[start : end if not grows else start + 1]
            case "move":
                taken = lines[start:end]
                del lines[start:end]
                at = self.chance.randint(0, len(lines))
                lines[at:at] = taken
            case "indent":
                lines[start:end] = [
                    f"    {line}" if self.chance.random() < 0.7 else line.strip() for line in lines[start:end]
                ]
            case _:
                return self._carried(path, lines, start, end)
        return {path: lines}

    def _carried(self, path: str, lines: list[str], start: int, end: int) -> dict[str, list[str]]:
        """A block that goes to another file, perhaps a new one."""
        taken = lines[start:end]
        del lines[start:end]
        other = self.some_file() if len(self.files()) > 4 else f"file{next(self.numbers)}.txt"
        if other == path:
            return {path: taken + lines}
        there = self.place.lines(other) if (self.place.folder / other).exists() else []
        at = self.chance.randint(0, len(there))
        return {path: lines, other: [*there[:at], *taken, *there[at:]]}

    # -- what people do -----------------------------------------------------------------------------------------------

    def step(self) -> None:
        ways = [
            (self.edit, 10), (self.amend, 4), (self.squash, 2), (self.rebase, 2), (self.pick, 2),
            (self.rename, 1), (self.side, 2), (self.stash, 1), (self.restore, 2), (self.bring_back, 1),
        ]  # fmt: skip
        way = self.chance.choices([way for way, _ in ways], [often for _, often in ways])[0]
        self.done.append(way.__name__)
        way()

    def edit(self) -> None:
        self.place.commit(self.edited())

    def amend(self) -> None:
        self.place.write(self.edited() if self.chance.random() < 0.6 else {})
        self.place.git("add", "--all")
        message = ["--no-edit"] if self.chance.random() < 0.5 else ["--message=Amended"]
        self.place.git("commit", "--quiet", "--allow-empty", "--amend", *message)

    def _depth(self, most: int) -> int:
        result = int(self.place.git("rev-list", "--count", "--first-parent", "HEAD"))
        return min(result - 1, self.chance.randint(1, most))

    def squash(self) -> None:
        """The last commits as one, with all of their trailers or without."""
        depth = self._depth(30 if self.chance.random() < 0.2 else 4)
        message = "Squashed"
        if self.chance.random() < 0.5:
            kept = self.place.git("log", f"--format={TRAILERS}", f"HEAD~{depth}..HEAD").split("\n")
            message = "\n".join([message, "", *dict.fromkeys(line for line in kept if line)])
        self.place.git("reset", "--quiet", "--soft", f"HEAD~{depth}")
        self.place.commit({}, message=message)

    def _aside(self, depth: int) -> str:
        """Another person's commit on an older one, in a separate file."""
        self.place.git("checkout", "--quiet", "-B", "aside", f"HEAD~{depth}")
        result = self.place.commit({f"file{next(self.numbers)}.txt": self.fresh(2)}, message="Aside")
        self.place.git("checkout", "--quiet", "main")
        return result

    def rebase(self) -> None:
        aside = self._aside(self._depth(5))
        self._or_abort("rebase", "--quiet", "--empty=drop", aside)

    def _or_abort(self, command: str, *words: str) -> bool:
        """Where git finds a conflict, people think better of it."""
        if self.place.tried(command, *words).returncode == 0:
            return True
        self.place.git(command, "--abort")
        return False

    def pick(self) -> None:
        """The last commit again, as another one."""
        last = self.place.git("rev-parse", "HEAD")
        if len(self.place.git("rev-list", "--parents", "-1", last).split()) != 2:
            return
        self.place.git("reset", "--quiet", "--hard", "HEAD~1")
        self.place.commit({f"file{next(self.numbers)}.txt": self.fresh(1)}, message="Before")
        if not self._or_abort("cherry-pick", "--allow-empty", "--keep-redundant-commits", last):
            self.place.git("reset", "--quiet", "--hard", last)

    def rename(self) -> None:
        self.place.git("mv", self.some_file(), f"file{next(self.numbers)}.txt")
        self.place.commit({}, message="Renamed")

    def side(self) -> None:
        """A merge of another person's branch."""
        aside = self._aside(self._depth(3))
        self._or_abort("merge", "--quiet", "--no-ff", "--no-edit", aside)

    def stash(self) -> None:
        self.place.write(self.edited())
        self.place.git("add", "--all")
        if self.place.git("status", "--porcelain"):
            self.place.git("stash", "--quiet")
            self.place.commit({f"file{next(self.numbers)}.txt": self.fresh(1)}, message="Meanwhile")
            self.place.git("stash", "pop", "--quiet")
        self.place.commit({}, message="Unstashed")

    def restore(self) -> None:
        """A person breaks some lines, perhaps writes something else, and restores them with git or by hand."""
        path = self.some_file()
        before = self.place.lines(path)
        start, end = self.block(before)
        if start == end:
            return
        broken = self.fresh(1) if self.chance.random() < 0.5 else []
        last = self.place.commit({path: [*before[:start], *broken, *before[end:]]}, message="Broken")
        if self.chance.random() < 0.5:
            self.place.commit({f"file{next(self.numbers)}.txt": self.fresh(1)}, message="Meanwhile")
        match self.chance.choice(["revert", "checkout", "by hand"]):
            case "revert":
                self.place.git("revert", "--no-edit", last)
            case "checkout":
                self.place.git("checkout", "--quiet", f"{last}~1", "--", path)
                self.place.commit({}, message="Checked out")
            case _:
                self._write_back([line.strip() for line in before[start:end]])
        self.restored.update(word for line in before[start:end] if self.owners[word := line.strip()] != PEOPLE)

    def bring_back(self) -> None:
        """A person writes agents' lines again that were removed some time ago."""
        there = {line.strip() for path in self.files() for line in self.place.lines(path)}
        written = [word for word, owner in self.owners.items() if owner != PEOPLE][-200:]
        gone = [word for word in written if word not in there]
        words = self.chance.sample(gone, min(len(gone), self.chance.randint(1, 5)))
        self._write_back(words)
        self.restored.update(words)

    def _write_back(self, words: list[str]) -> None:
        path = self.some_file()
        lines = self.place.lines(path)
        at = self.chance.randint(0, len(lines))
        self.place.commit({path: [*lines[:at], *words, *lines[at:]]}, message="By hand")

    # -- what agents do -----------------------------------------------------------------------------------------------

    def deliver(self) -> Score:
        """An agent's turn, which also moves and indents what others wrote, taken over in one of the usual ways; how it
        looks straight after the delivery."""
        self._tidy()
        path = self.some_file()
        new = self.fresh(self.chance.randint(8, 16), "?")
        lines = self.place.lines(path)
        start, end = self.block(lines)
        moved = [f"  {line}" for line in lines[start:end]]
        del lines[start:end]
        lines = [*lines, *moved] if self.chance.random() < 0.5 else [*moved, *lines]
        at = self.chance.randint(0, len(lines))
        half = len(new) // 2
        files = {path: [*lines[:at], *new[:half], *lines[at:]], f"file{next(self.numbers)}.txt": new[half:]}
        session = self.place.deliver(files)
        self.owners.update(dict.fromkeys(new, session["id"]))
        branch = session["result"]["branch"]
        score = self.score(branch)
        match self.chance.choice(["merge", "squash", "pick"]):
            case "merge":
                self.place.git("merge", "--quiet", "--no-edit", branch)
            case "squash":
                self.place.git("merge", "--quiet", "--squash", branch)
                self.place.commit({}, message="Took it over")
            case _:
                self.place.git("cherry-pick", branch)
        self.place.git("branch", "--quiet", "-D", branch)
        return score

    def _tidy(self) -> None:
        """Few files, and few lines in each."""
        for path in self.files()[8:]:
            self.place.git("rm", "--quiet", path)
        for path in self.files():
            self.place.write({path: self.place.lines(path)[:80]})
        self.place.commit({}, message="Tidied")

    # -- how it looks -------------------------------------------------------------------------------------------------

    def score(self, revision: str = "HEAD") -> Score:
        """Every line of every file, as the revision has it. What people brought back is theirs if the history shows
        it; after a squash it may show nothing, and then such a line does not count."""
        result, removed = Score(), self.removals.until(revision)
        for path in sorted(self.place.git("ls-tree", "-r", "--name-only", revision).split("\n")):
            if not self.place.git("show", f"{revision}:{path}"):
                continue
            for line in self.place.blame(path, revision):
                word = line["text"].strip()
                owner = self.owners[word]
                if word in self.restored:
                    result.false += line["session"] not in ((None,) if word in removed else (None, owner))
                    result.restored += word in removed
                    continue
                result.lines += owner != PEOPLE
                result.right += owner != PEOPLE and line["session"] == owner
                result.false += line["session"] not in (None, owner)
        return result


def rewriter(folder: Path, client: httpx.Client, seed: str, word: Callable[[int], str]) -> Rewriter:
    result = Rewriter(Place(folder, client), random.Random(seed), word)  # noqa: S311
    new_repository(folder, {"one.txt": result.fresh(20), "two.txt": result.fresh(10)}, client)
    return result
