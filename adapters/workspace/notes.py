"""Notes on commits: which session and turn wrote them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.workspace.git import WorkspaceError, in_theirs, line, note_on
from adapters.workspace.repository import Repository
from domain.provenance.notes import REF, Note, NotedTurn, merged, note_of, written_lines
from domain.provenance.work import TurnWork

MOST: Final = 1_000
"""Commits of a result that get a note."""
_TRIES: Final = 3
_NAMES: Final = ("Session", "Turn", "Agent", "Model", "Iteration")
_FORM: Final = "%x00".join(
    ["%H", "%P", *(f"%(trailers:key=Hansard-{name},valueonly,separator=%x20)" for name in _NAMES)]
)


def write_notes(copy: Repository, base: str, commit: str, repository: Path) -> None:
    """Add a note to each commit of a result, in the person's repository, about the lines that the agent wrote. Existing
    notes are extended; unreadable ones are left as they are."""
    for name, note in _notes(copy, base, commit):
        for _ in range(_TRIES):
            with suppress(WorkspaceError):  # another process wrote a note at the same time
                add_note(repository, name, note)
                break


def _notes(copy: Repository, base: str, commit: str) -> Iterator[tuple[str, Note]]:
    output = copy.run(
        "log", "--reverse", "--no-merges", f"--max-count={MOST}", f"--format={_FORM}", f"{base}..{commit}"
    )
    for words in output.decode(errors="replace").splitlines():
        name, parents, *trailers = words.split("\0")
        if len(trailers) != len(_NAMES) or not all(trailers[:2]) or not parents:
            continue
        writer = NotedTurn(*trailers)
        lines = written_lines(TurnWork(writer.session, writer.turn, copy.patch(parents.split()[0], name)))
        if lines:
            yield name, note_of(name, [(writer, lines)])


def add_note(repository: Path, commit: str, note: Note) -> None:
    """Raises WorkspaceError."""
    there = note_on(repository, REF, commit)
    theirs = None if there is None else there.decode(errors="surrogateescape")
    text = note.text() if theirs is None else merged(theirs, note)
    if text is None or text == theirs:
        return
    blob = line(in_theirs(["hash-object", "-w", "--stdin"], repository, stdin=text.encode(errors="surrogateescape")))
    force = [] if theirs is None else ["--force"]
    in_theirs(["notes", f"--ref={REF}", "add", *force, "-C", blob, commit], repository)
