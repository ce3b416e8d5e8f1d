"""Fixes that bring back lines which the fix of another finding took out."""

from collections.abc import Collection
from dataclasses import dataclass, field

from domain.findings.line_history import ChangedFiles, grouped
from domain.provenance.distinction import FAINT, weight


@dataclass
class RemovedLines:
    """Lines that fixes took out, by file and text: the findings that each was for."""

    _removed: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def brought_back(self, files: ChangedFiles, names: Collection[str]) -> list[frozenset[str]]:
        """The findings of others whose lines a fix of these brings back, at most once for each file."""
        if not self._removed:
            return []
        removed, others = grouped(files.removed), list[frozenset[str]]()
        for path, texts in files.added.items():
            for text in texts:
                name = "".join(text.split())
                earlier = self._removed.get((path, name))
                if earlier and weight(text) >= FAINT and earlier.isdisjoint(names) and name not in removed[path]:
                    others.append(earlier)
                    break
        return others

    def take(self, files: ChangedFiles, names: frozenset[str]) -> None:
        """A fix of these findings took out the lines that the change removed and did not add again."""
        if not names:
            return
        added = grouped(files.added)
        for path, gone in grouped(files.removed).items():
            for name in gone - added[path]:
                self._removed[path, name] = names
