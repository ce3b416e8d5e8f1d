"""Generated review loops with known truth: files with planted faults, a reviewer who words things anew each time and is
sometimes silent, and a developer who fixes, half-fixes, ignores, moves lines and brings new faults."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from random import Random

from domain.findings.ledger import FindingLedger
from domain.findings.moments import FoundReport, LookTaken, Moment, WorkChange

_WAYS = (
    "`{name}` is wrong when {topic} is zero",
    "The result of `{name}` is wrong: {topic} may be zero there",
    "Wrong result from `{name}` as soon as {topic} becomes zero",
)
_TOPICS = (
    "the discount",
    "the tax rate",
    "the basket",
    "the quantity",
    "the margin",
    "the voucher",
    "the shipping cost",
)
_NITS = (
    "The name `{name}` says little, rename it",
    "Add a docstring to `{name}`",
    "A comment above `{name}` has a typo",
    "The formatting around `{name}` is inconsistent",
    "Refactor `{name}` into a module of its own",
    "The readme does not document `{name}`",
)


@dataclass
class Fault:
    """A true fault: the text of the line that has it, where it is, and whether anybody has reported it."""

    path: str
    text: str
    name: str
    topic: str
    strong: bool
    reported: bool = False
    touched: bool = False
    fixed: bool = False


@dataclass
class Loop:
    random: Random
    files: dict[str, list[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    ledger: FindingLedger = field(default_factory=FindingLedger)
    moments: list[Moment] = field(default_factory=list)
    version: int = 1
    rounds: int = 0
    made: int = 0

    @classmethod
    def of(cls, seed: int) -> "Loop":
        loop = cls(Random(seed))  # noqa: S311 - no secret
        for number in range(loop.random.randint(1, 3)):
            path = f"shop/part{number}.py"
            loop.files[path] = [f"value_{number}_{line} = compute_{number}_{line}(basket)" for line in range(40)]
        for _ in range(loop.random.randint(1, 5)):
            loop._plant()
        loop._write({})
        return loop

    def _plant(self) -> None:
        path = self.random.choice(sorted(self.files))
        self.made += 1
        name, topic = f"rebate_{self.made}", self.random.choice(_TOPICS)
        text = f"faulty_{self.made} = {name}(basket, {self.made})"
        self.files[path].insert(self.random.randrange(len(self.files[path])), text)
        self.faults.append(Fault(path, text, name, topic, strong=self.random.random() < 0.5))

    def look(self) -> None:
        """The reviewer repeats what was worked on and is still there; of the rest it misses some."""
        self.rounds += 1
        self.version += 1
        reports = []
        for fault in self.faults:
            if fault.fixed or (not fault.touched and self.random.random() < 0.25):
                continue
            fault.reported, fault.touched = True, False
            reports.append(self._report(fault))
        if self.random.random() < 0.5:
            reports.append(self._nit())
        self._add(LookTaken(version=self.version, number=self.rounds, by="reviewer", reports=tuple(reports)))

    def _add(self, moment: Moment) -> None:
        self.moments.append(moment)
        self.ledger.add(moment)

    def _report(self, fault: Fault) -> FoundReport:
        line = self.files[fault.path].index(fault.text) + 1
        placed = self.random.random() < 0.8
        words = self.random.choice(_WAYS).format(name=fault.name, topic=fault.topic)
        if placed and self.random.random() < 0.5:
            words = f"{fault.path}:{line} {words}"
            placed = False
        return FoundReport(
            version=self.version,
            title=words,
            blocking=True,
            severity="critical" if fault.strong else "major",
            path=fault.path if placed else "",
            line=line if placed else None,
        )

    def _nit(self) -> FoundReport:
        name = f"value_{self.random.randrange(3)}_{self.random.randrange(40)}"
        return FoundReport(version=self.version, title=self.random.choice(_NITS).format(name=name), blocking=True)

    def fix(self) -> None:
        """The developer works on what the reviewer blocks."""
        before = {path: list(lines) for path, lines in self.files.items()}
        for fault in [each for each in self.faults if each.reported and not each.fixed]:
            lines, luck = self.files[fault.path], self.random.random()
            at = lines.index(fault.text)
            if luck < 0.7:
                lines[at] = f"checked_{fault.name} = guarded(basket)"
                fault.fixed = True
            elif luck < 0.9:
                fault.text = lines[at] = f"{fault.text}  # {self.version}"
                fault.touched = True
        if self.random.random() < 0.4:
            path = self.random.choice(sorted(self.files))
            self.files[path][5:5] = [f"added_{self.version}_{each} = step_{self.version}(basket)" for each in range(3)]
        if self.random.random() < 0.15:
            self._plant()
        self._write(before)

    def _write(self, before: dict[str, list[str]]) -> None:
        self.version += 1
        patch = "\n".join(patch_lines(before, self.files))
        self._add(WorkChange(version=self.version, turn=f"T{self.version}", by="dev", patch=patch))

    def lost(self) -> list[Fault]:
        """The reported faults that are still there although the ledger has no open finding about them."""
        said = " ".join(f"{each.report.title} " for each in self.ledger.findings if each.is_open)
        return [each for each in self.faults if each.reported and not each.fixed and f"`{each.name}`" not in said]


def patch_lines(before: dict[str, list[str]], after: dict[str, list[str]]) -> Iterator[str]:
    """A patch as git writes it."""
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null")
        yield f"diff --git a/{path} b/{path}"
        yield from (["new file mode 100644"] if old is None else ["deleted file mode 100644"] if new is None else [])
        yield from unified_diff(old or [], new or [], *names, lineterm="")


def run(seed: int, most: int = 12) -> Loop:
    """A loop up to the first recommendation to stop or to ask."""
    loop = Loop.of(seed)
    for _ in range(most):
        loop.look()
        if loop.ledger.advice.recommendation in ("stop", "ask"):
            return loop
        loop.fix()
    return loop
