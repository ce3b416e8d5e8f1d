"""Compares the tests and settings of the work with those that it started from, for the report of a validation."""

from collections.abc import Sequence
from typing import Final

from adapters.workspace.workspace import Workspace
from domain.checks.deciding_files import decides
from domain.checks.test_counts import RunnerCount
from domain.checks.test_files import is_test
from domain.checks.weakening import LONGEST_SOURCE, ChangedSource, Weakening, weakenings
from domain.session.workspace import ChangedFile

MOST: Final = 500
"""As many changed files are read."""


def weakened(
    workspace: Workspace,
    tree: str,
    commands: Sequence[str],
    *,
    before: Sequence[RunnerCount],
    after: Sequence[RunnerCount],
) -> tuple[Weakening, ...]:
    """The reasons why the validation of `tree` proves less than that of the start state. `before` and `after` are the
    counts of the runners there and now.
    """
    base = workspace.base()
    changed = [file for file in workspace.files(base, tree) if _matters(file, commands)][:MOST]
    places = [place for file in changed for place in ((base, _before(file)), (tree, file.path))]
    texts = workspace.texts(places, longest=LONGEST_SOURCE)
    sources = [
        ChangedSource(file.path, texts.get((base, _before(file))), texts.get((tree, file.path)), file.renamed_from)
        for file in changed
    ]
    return weakenings(sources, commands=commands, before=before, after=after)


def _before(file: ChangedFile) -> str:
    return file.renamed_from or file.path


def _matters(file: ChangedFile, commands: Sequence[str]) -> bool:
    return any(is_test(path) or decides(path, commands) for path in {file.path, _before(file)})
