"""`hansard key`: API keys. Whoever has the file can check a key, nobody can read one out of it."""

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.exits import Failed
from api.cli.terminal import put, say

_NAME: Final = re.compile(r"[^\W_](?:[\w.@-]{0,98}[\w])?")


def make_key(
    name: Annotated[str, Parameter(help="Who will use it; it becomes the actor in the record.")],
    /,
    *,
    file: Annotated[Path | None, Parameter(help="The file of keys. HANSARD_API_KEYS_FILE.")] = None,
) -> int:
    """Make an API key: it is printed once, the file keeps only its SHA-256."""
    if not _NAME.fullmatch(name):
        raise Failed(f"{name!r} is no name for a key: letters, digits and ._@- are.", code=exits.USAGE)
    path = file or _configured()
    key = f"hansard_{secrets.token_urlsafe(32)}"
    try:
        _append(path, name, hashlib.sha256(key.encode()).hexdigest())
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}.") from None
    put(key)
    say(f"This is the only time the key of {name} is shown; {path} knows its digest.")
    say("Sign in to the page with it, or send `Authorization: Bearer …`; for this command line: HANSARD_API_KEY.")
    return exits.OK


def _configured() -> Path:
    named = os.environ.get("HANSARD_API_KEYS_FILE")
    if not named:
        raise Failed("Which file? Set HANSARD_API_KEYS_FILE, as for the server, or give --file.", code=exits.USAGE)
    return Path(named)


def _append(path: Path, name: str, digest: str) -> None:
    """One line more, readable by its owner only; a name that is there already is refused."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        known = file.read()
        if any(line.partition(":")[0].strip() == name for line in known.splitlines()):
            raise Failed(f"{path} has a key of {name} already; remove its line first.", code=exits.REFUSED)
        file.write(("" if known.endswith("\n") or not known else "\n") + f"{name}:{digest}\n")
