"""The note on a squashed commit: which of its lines agents wrote."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from api.cli.client import Api
from api.cli.exits import Failed


async def note_squash(api: Api, top: Path, commit: str, paths: Iterable[str]) -> None:
    """Say in `refs/notes/ai` what the record knows of the commit's lines; nothing where it knows nothing."""
    from adapters.workspace.noting import add_note
    from adapters.workspace.paths import WorkspaceError
    from domain.provenance.notes import NotedTurn, note_of

    found = defaultdict[NotedTurn, dict[str, list[int]]](dict)
    for path in paths:
        with suppress(Failed):  # the server may have no such repository
            for line in await api.values("/api/blame", repository=str(top), path=path, revision=commit):
                if line["session"] is not None and line["commit"] == commit:
                    writer = NotedTurn(
                        session=line["session"],
                        turn=line["turn"],
                        agent=line["agent"],
                        model=line["model"] or "",
                        iteration=str(line["iteration"] or ""),
                    )
                    found[writer].setdefault(path, []).append(line["line"])
    if found:
        with suppress(WorkspaceError):  # the commit is there; the note is not worth failing for
            add_note(top, commit, note_of(commit, list(found.items())))
