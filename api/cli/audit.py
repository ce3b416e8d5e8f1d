"""`hansard verify`, `checkpoint`: the log itself, proved."""

import base64
import dataclasses
from pathlib import Path
from typing import Any, Final

from adapters.proof import checkpoints
from adapters.proof.checkpoints import holds
from adapters.proof.inclusion_check import check_proof
from adapters.proof.verdict import LogFault, Verification
from adapters.proof.verify import verify as verify_log
from adapters.store.errors import StoreError
from adapters.store.sqlite.failures import is_damaged
from adapters.store.sqlite.soundness import is_database
from adapters.store.sqlite.views import is_unavailable
from api.cli import exits
from api.cli.checkpoint_file import opened_checkpoint, public_key_of, read_words
from api.cli.client import require_log
from api.cli.error_words import in_words, words_of
from api.cli.exits import Failed
from api.cli.labels import name_of, sentence
from api.cli.log import open_log, settings_of
from api.cli.terminal import counted, put, put_json, say, visible
from api.cli.view_rebuild import difference, rewritten
from domain.values.json import Malformed, decode
from domain.values.sentences import sentence_of


def verify(
    file: Path | None,
    /,
    *,
    checkpoint: Path | None,
    public_key: str | None,
    proof: Path | None,
    redacted: list[str] | None,
    json: bool,
    database: str | None,
) -> int:
    """Verify that the log is complete and unchanged: file, hash chains, versions, rules, views. Exit code 8 if not."""
    if proof is not None:
        return _check_proof(proof, public_key)
    own = settings_of(database)
    if file is not None and file.is_file() and is_database(file):
        database = str(file)
    elif file is not None:
        from api.cli.shared_check import check_shared  # the page that it renders takes as long to load as all else

        return check_shared(file, public_key)
    settings = settings_of(database)
    signed = None if checkpoint is None else opened_checkpoint(checkpoint, public_key, settings)
    try:
        with open_log(settings) as store:
            are_its_own = settings.log_file == own.log_file or settings.views_path != own.views_path
            verdict = verify_log(
                store,
                (lambda: difference(store, settings.views_path, settings.database)) if are_its_own else None,
                witness=(lambda: rewritten(store, settings.views_path)) if are_its_own else None,
                covered=0 if signed is None else signed.size,
                allowed=frozenset(redacted or ()),
            )
            problem = None if signed is None else holds(store, signed)
            if problem is not None:
                verdict.blame(None, problem)
    except StoreError as error:
        if error.__cause__ is not None and is_unavailable(error.__cause__) and not is_damaged(error.__cause__):
            raise  # it was not looked at
        if getattr(sentence_of(error), "code", "") == "database_newer":
            raise
        if settings.log_file is None and getattr(sentence_of(error), "code", "") != "database_damaged":
            raise  # the database is away, or does not hold a log that this version reads
        verdict = Verification(faults=[LogFault(None, sentence_of(error))])
    code = _tell(verdict, settings.log_name, json=json)
    if any(getattr(fault.problem, "code", "") in REWRITTEN for fault in verdict.faults):
        advice = "Keep a copy of {log} and of the views {views} before you do anything else: they are the evidence."
        say(sentence(advice, log=settings.log_name, views=settings.views_path))
    return code


REWRITTEN: Final = frozenset({"fault_event_changed", "fault_event_rewritten"})
"""Faults that are changes of what was recorded: the views may still show what it was."""


def _tell(verdict: Verification, name: str, *, json: bool) -> int:
    faults = [{"position": fault.position, "problem": fault.problem} for fault in verdict.faults]
    if json:
        figures = {"events": verdict.events, "sessions": verdict.sessions, "head": verdict.head, "root": verdict.root}
        figures |= {
            "redacted": [dataclasses.asdict(text) for text in verdict.redacted],
            "unprovable": [dataclasses.asdict(event) for event in verdict.unprovable],
        }
        details = {"firstBad": verdict.first_bad, "faults": faults, "viewsUnchecked": verdict.unchecked}
        put_json({"sound": verdict.sound, **figures, **details})
    else:
        for fault in verdict.faults:
            put(visible(fault_words(fault.position, fault.problem)))
        for text in verdict.redacted:
            redacted = sentence(
                "position {position}: {actor} redacted {digest} in {session}: {reason}",
                position=text.position,
                actor=name_of(text.actor),
                digest=text.digest,
                session=text.session_id,
                reason=text.reason,
            )
            put(visible(redacted))
            if text.newer:
                newer = "position {position}: this redaction is newer than the checkpoint"
                put(sentence(newer, position=text.position))
        for event in verdict.unprovable:
            unprovable = sentence(
                "position {position}: {session} version {version} is redacted, not provable",
                position=event.position,
                session=event.session_id,
                version=event.version,
            )
            put(visible(unprovable))
        if verdict.unchecked is not None:
            say(sentence("The views could not be checked: {unchecked}", unchecked=verdict.unchecked))
        summary = "{log} is complete and unchanged: {events} of {streams}, root {root}…"
        if verdict.unprovable:
            summary = "{log} is complete and unchanged but for what was redacted: {events} of {streams}, root {root}…"
        if not verdict.sound:
            summary = "{log} is damaged or was changed: {events} of {streams}, root {root}…"
        events, streams = counted(verdict.events, "event"), counted(verdict.sessions, "stream")
        at = sentence("; the first bad position is {position}", position=verdict.first_bad) if verdict.first_bad else ""
        say(sentence(summary, log=name, events=events, streams=streams, root=verdict.root[:16]) + at)
    return exits.OK if verdict.sound else exits.NOT_VERIFIED


def fault_words(position: int | None, problem: str) -> str:
    """A fault of the log in a line; without a position it is one of the whole log."""
    words = in_words(problem)
    return sentence("position {position}: {problem}", position=position, problem=words) if position else words


def _check_proof(path: Path, key: str | None) -> int:
    if key is None:
        raise Failed(sentence("Give --public-key to check a proof."), code=exits.USAGE)
    proof, public = read_words(path), public_key_of(key)
    try:
        checkpoint = check_proof(decode(proof), public)
    except (checkpoints.NotProved, Malformed) as error:
        raise Failed(sentence("Not proved: {error}", error=words_of(error)), code=exits.NOT_VERIFIED) from None
    say(sentence("Proved: the event is one of the {size} signed events.", size=checkpoint.size))
    return exits.OK


def checkpoint(*, public_key: bool, json: bool, database: str | None) -> int:
    """Print a signed checkpoint of the log. Keep it elsewhere: it lets `verify` detect a truncated log."""
    settings = settings_of(database)
    require_log(settings)
    try:
        key = checkpoints.signing_key(settings.signing_key)
        named = checkpoints.public_text(key)
        if public_key:
            _print(named, {"publicKey": named}, json=json)
            return exits.OK
        with open_log(settings) as store:
            head = checkpoints.head(store)
    except checkpoints.NotProved as error:
        raise Failed(sentence("Nothing was signed. {error}", error=words_of(error)), code=exits.NOT_VERIFIED) from None
    note = checkpoints.sign(head, key)
    root = base64.b64encode(head.root).decode()
    fields = {"checkpoint": note, "origin": head.origin, "size": head.size, "root": root, "publicKey": named}
    _print(note.rstrip("\n"), fields, json=json)
    return exits.OK


def _print(words: str, fields: dict[str, Any], *, json: bool) -> None:
    if json:
        put_json(fields)
    else:
        put(words)
