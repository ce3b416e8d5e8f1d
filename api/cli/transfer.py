"""`hansard export`, `import`: sessions as lines of a file."""

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from adapters.proof.checkpoints import SignedHead
from adapters.proof.transfer import AlreadyThere, NotImported
from adapters.proof.transfer import export as lines
from adapters.proof.transfer import take_in as carry_in
from api.cli import exits
from api.cli.checkpoint_file import opened_checkpoint
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import changing, find_stream, open_log, settings_of
from api.cli.terminal import counted, say
from api.node.settings import Settings


def export(session: str | None, /, *, json: bool, database: str | None) -> int:
    """Write the whole log, or a session with its reviews and debates, to stdout as JSON Lines."""
    with open_log(settings_of(database)) as store:
        for line in lines(store, None if session is None else find_stream(store, session)):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return exits.OK


def import_sessions(file: Path, /, *, checkpoint: Path | None, public_key: str | None, database: str | None) -> int:
    """Import sessions from a file written by `export`; - reads stdin. All or nothing."""
    settings = settings_of(database)
    signed = None if checkpoint is None else opened_checkpoint(checkpoint, public_key, settings)
    try:
        with lines_of(file) as lines:
            return take_in(lines, settings, signed)
    except OSError as error:
        problem = sentence("{file} cannot be read: {strerror}.", file=file, strerror=exits.reason_of(error))
        raise Failed(problem, code=exits.USAGE) from None


def lines_of(file: Path) -> AbstractContextManager[Iterable[bytes]]:
    return nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")


def take_in(lines: Iterable[bytes], settings: Settings, signed: SignedHead | None) -> int:
    """Import the lines of an export. Raises Failed, and then nothing is imported."""
    with changing(settings) as store:
        try:
            sessions, events = carry_in(store, lines, signed)
        except NotImported as error:
            code = exits.REFUSED if isinstance(error, AlreadyThere) else exits.NOT_VERIFIED
            raise Failed(sentence("Nothing was imported. {error}", error=words_of(error)), code=code) from None
    say(
        sentence(
            "Imported {events} of {sessions}.", events=counted(events, "event"), sessions=counted(sessions, "session")
        )
    )
    if signed is None:
        say(
            sentence(
                "An export carries no signature: whether its log was changed before cannot be seen in it."
                " A checkpoint of that log shows it (--checkpoint)."
            )
        )
    return exits.OK
