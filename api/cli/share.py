"""`share`: a session as one HTML file that shows its record and can be checked."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from adapters.agents.team import load
from adapters.proof import checkpoints
from adapters.store.port import Log
from adapters.turns.result.team_secrets import unset_secrets
from api.actions.projects import team_of
from api.cli import exits
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.interview import is_interactive
from api.cli.labels import sentence
from api.cli.log import find_stream, open_log, origin_of, settings_of
from api.cli.options import Where
from api.cli.terminal import put, say, visible
from api.share.authors import authors_of
from api.share.collection import SharingRules
from api.share.file_to_show import file_to_show
from api.share.known_secrets import known_secrets
from api.share.names import names_in
from api.share.shared_record import SharedRecord
from domain.values.words import of_environment

_MOST: Final = 20


def share(session: str, /, *, at: int | None, out: Path | None, with_: str, yes: bool, database: str | None) -> int:
    """Write a session as one HTML file to show: events, turns, changes, worklog, and the record with its proof."""
    if out is not None and str(out).startswith("-") and str(out) != "-":
        raise Failed(sentence("{option} needs a value.", option="--out"), code=exits.USAGE)
    wishes = _wishes(with_)
    settings = settings_of(database)
    try:
        with open_log(settings) as log:
            key = checkpoints.signing_key(settings.signing_key)
            name = find_stream(log, session)
            place = _team_file(log, name, database)
            people = authors_of([Path.cwd(), *filter(None, origin_of(log, name))])
            team = load(place)
            rules = SharingRules(known_secrets(team, settings), wishes, of_environment(os.environ))
            record, html = file_to_show(log, name, at, key, rules)
    except checkpoints.NotProved as error:
        problem = sentence("Nothing was shared. {error}", error=words_of(error))
        raise Failed(problem, code=exits.NOT_VERIFIED) from None
    _list_names(record, people)
    secret = sum(each.why == "secret" for each in record.left_out)
    if secret:
        say(sentence("Left out because they hold a secret: {number}.", number=secret))
    if long := sum(each.why == "long" for each in record.left_out):
        say(sentence("Left out because the file would be too large: {number} texts, the longest ones.", number=long))
    if place is None:
        say(sentence("No team file is read here, so no agent's key is known that a text could hold. Set HANSARD_TEAM."))
    elif unset := unset_secrets(team):
        say(sentence("Not set here, so a text that holds it is not left out: {names}.", names=_short(unset)))
    path = out or Path(f"{name}.html")
    if not yes and is_interactive() and not _confirmed():
        raise Failed(sentence("Nothing was written."), code=exits.REFUSED)
    if str(path) == "-":
        sys.stdout.buffer.write(html.encode())
        sys.stdout.buffer.flush()
        return exits.OK
    _write(path, html)
    put(str(path))
    return exits.OK


def _team_file(log: Log, session: str, database: str | None) -> Path | None:
    """Returns the team file: that of the settings or of the current repository, else of the session's own."""
    settings = Where(database=database).settings()
    origins = () if settings.team else filter(None, origin_of(log, session))
    return settings.team or next((team for folder in origins if (team := team_of(folder, settings))), None)


def _wishes(words: str) -> tuple[Literal["prompts", "transcripts"], ...]:
    wishes: list[Literal["prompts", "transcripts"]] = []
    for word in filter(None, (part.strip() for part in words.split(","))):
        match word:
            case "prompts" | "transcripts":
                wishes.append(word)
            case _:
                problem = sentence("--with takes prompts and transcripts, not {word}.", word=visible(word))
                raise Failed(problem, code=exits.USAGE)
    return tuple(wishes)


def _list_names(record: SharedRecord, people: Iterable[str]) -> None:
    """Say which people, hosts and paths a reader of the file sees."""
    names = names_in(record.strings(), people)
    if names.people:
        say(sentence("People in the file: {names}", names=_short(names.people)))
    if names.hosts:
        say(sentence("Hosts in the file: {names}", names=_short(names.hosts)))
    if names.paths:
        say(sentence("Paths in the file: {names}", names=_short(names.paths)))


def _short(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" (+{len(shown) - _MOST})" if len(shown) > _MOST else ""
    return ", ".join(shown[:_MOST]) + more


def _confirmed() -> bool:
    sys.stderr.write(f"{sentence('Write the file? [y/N]')} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "예", "네")


def _write(path: Path, html: str) -> None:
    try:
        path.write_bytes(html.encode())
    except OSError as error:
        problem = sentence("{path} cannot be written: {strerror}.", path=path, strerror=exits.reason_of(error))
        raise Failed(problem, code=exits.USAGE) from None
