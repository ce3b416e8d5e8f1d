"""`restore`: put a copy in place of the log."""

import secrets
import time
from pathlib import Path

from adapters.notify.outbox import rewind_file
from adapters.proof.verify import verify
from adapters.store.errors import StoreError
from adapters.store.location import reading
from adapters.store.sqlite.replacement import ENDS, LogInUse, alone, copied, put_in_place
from api.cli import exits
from api.cli.audit import fault_words
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import settings_of
from api.cli.terminal import counted, say
from api.cli.transfer import lines_of, take_in
from api.node.settings import Settings


def restore(file: Path, /, *, database: str | None) -> int:
    """Put a copy made by `hansard backup` in place of the log. In PostgreSQL an export replaces it; its keys stay."""
    settings = settings_of(database)
    if not file.is_file():
        raise Failed(sentence("There is no file {file}.", file=file), code=exits.NOT_FOUND)
    try:
        log = settings.log_file
        return _from_export(file, settings) if log is None else _from_copy(file, log, settings.outbox_file)
    except LogInUse as error:
        raise Failed(words_of(error), code=exits.REFUSED) from None


def _from_copy(file: Path, log: Path, outbox: Path) -> int:
    if log.exists() and log.samefile(file):
        raise Failed(sentence("{file} is the log itself.", file=file), code=exits.USAGE)
    draft = log.with_name(f".{log.name}.{secrets.token_hex(4)}")
    aside = log.with_name(f"{log.name}.before-{_now()}")
    try:
        with alone(log):
            size = _verified(file, draft)
            had = log.exists()
            put_in_place(draft, log, aside)
            rewind_file(outbox, size)
    finally:
        for end in ENDS:
            draft.with_name(draft.name + end).unlink(missing_ok=True)
    _say_restored(size, str(log), str(aside) if had else None)
    return exits.OK


def _from_export(file: Path, settings: Settings) -> int:
    from adapters.store.postgres.replacement import set_aside

    name = f"hansard_before_{_now().lower()}"
    with set_aside(settings.database, name), lines_of(file) as lines:
        take_in(lines, settings, None)
    with reading(settings.database) as store:
        size = store.head()
    _say_restored(size, settings.log_name, name)
    return exits.OK


def _verified(file: Path, draft: Path) -> int:
    """Copy the file to a draft, and count its events. Raises Failed for one that is damaged or no log."""
    try:
        copied(file, draft)
        with reading(f"sqlite:///{draft.absolute()}") as log:
            verdict = verify(log)
            size = log.head()
            faults = [fault_words(fault.position, fault.problem) for fault in verdict.faults]
    except StoreError as error:
        faults = [words_of(error)]
    if faults:
        why = sentence("{file} is damaged or no log, so nothing was restored:", file=file)
        named = [fault.replace(str(draft.absolute()), str(file)) for fault in faults[:3]]
        raise Failed(why, *named, code=exits.NOT_VERIFIED)
    return size


def _say_restored(size: int, log: str, aside: str | None) -> None:
    events = counted(size, "event")
    say(sentence("Restored {events} to {log}. The copy is complete and unchanged.", events=events, log=log))
    if aside is not None:
        say(sentence("What was there before is {aside}.", aside=aside))


def _now() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
