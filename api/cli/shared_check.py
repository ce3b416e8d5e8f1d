"""`verify FILE` of a shared file: its faults, one a line."""

from pathlib import Path
from typing import Final

from api.cli import exits
from api.cli.error_words import in_words
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.terminal import put, say, visible
from api.share.check import FileCheck, checked
from domain.values.sentences import Sentence

_LARGEST: Final = 536_870_912
"""Bytes of a file that are read to check it: the file may be anything, such as a device."""


def check_shared(path: Path, key: str | None) -> int:
    """Say whether a shared file is as it was written: every fault, one a line."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        problem = sentence("{path} cannot be read: {strerror}.", path=path, strerror=exits.reason_of(error))
        takes = (
            "`verify` takes a file that `share` or `backup` wrote. Without one it verifies the log, with all sessions."
        )
        raise Failed(problem, sentence(takes), code=exits.USAGE) from None
    if len(content) > _LARGEST:
        check = FileCheck((Sentence("shared_file_too_large", number=_LARGEST >> 20),), None, None)
    else:
        check = checked(content, key)
    for problem in check.problems:
        put(visible(in_words(problem)))
    if check.problems or check.record is None or check.head is None:
        say(sentence("{path} is not as it was written.", path=path))
        return exits.NOT_VERIFIED
    events, cut = len(check.record.events), sum(event.cut for event in check.record.events)
    whole = "{path} is as it was written: {events} events of {session}, among {size} signed by {key}."
    values = {"path": path, "events": events, "session": check.record.session, "size": check.head.size}
    say(sentence(whole, key=check.record.public_key, **values))
    if cut:
        say(sentence("{cut} of them lack a text that was left out; their places are proved, not their words.", cut=cut))
    if texts := len({each.digest for each in check.record.left_out}):
        say(sentence("Texts of which only the digest is in it: {texts}.", texts=texts))
    if key is None:
        say(sentence("Compare the key with what its owner publishes: hansard checkpoint --public-key."))
    return exits.OK
