"""`key`: API keys. The file holds digests: enough to check a key, not to use one."""

import hashlib
import os
import re
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.exits import Failed
from api.cli.options import HERE
from api.cli.terminal import put, say, visible
from api.http.keys import DEFAULT, Key, Scope, parse, seconds_of
from api.owner import account, keys_file, owner_file, owners_key

_NAME: Final = re.compile(r"[^\W_](?:[\w.@-]{0,98}[\w])?")


def key(
    action: Annotated[
        str, Parameter(help="new, list, revoke, or owner (prints the owner's key); a name creates a key for it.")
    ],
    name: Annotated[str | None, Parameter(help="Who uses the key; events carry this name as their actor.")] = None,
    /,
    *,
    scope: Annotated[
        Scope,
        Parameter(
            help="What it may do: read, operate (start, continue, cancel …), decide (decisions, budgets, trust), admin;"
            " each includes those before it. turns: only the turns of an external agent."
        ),
    ] = DEFAULT,
    expires: Annotated[str | None, Parameter(help="When it expires: 45s, 30m, 12h, 30d [default: never].")] = None,
    file: Annotated[Path | None, Parameter(help="The key file. HANSARD_API_KEYS_FILE.")] = None,
) -> int:
    """Create, list and revoke API keys. A new key is printed once; only its SHA-256 is stored.

    hansard key new ada --scope decide --expires 30d
    """
    path = file or _configured()
    try:
        match action, name:
            case "owner", None:
                put(owners_key(HERE.settings()).read_text(encoding="ascii").strip())
                return exits.OK
            case "list", None:
                return _list(path)
            case "new" | "revoke", None:
                raise Failed(f"Which key? `hansard key {action} NAME`.", code=exits.USAGE)
            case "new", str():
                return _make(path, name, scope, expires)
            case "revoke", str():
                return _revoke(path, name)
            case _, None:
                return _make(path, action, scope, expires)
            case _:
                raise Failed(f"{action!r} is not one of new, list, revoke.", code=exits.USAGE)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}.") from None


def _make(path: Path, name: str, scope: Scope, expires: str | None) -> int:
    if not _NAME.fullmatch(name):
        raise Failed(f"{name!r} is not a valid key name: use letters, digits and ._@- only.", code=exits.USAGE)
    try:
        until = int(time.time()) + seconds_of(expires) if expires else None
    except ValueError as error:
        raise Failed(f"--expires: {error}", code=exits.USAGE) from None
    key = f"hansard_{secrets.token_urlsafe(32)}"
    _append(path, Key(name, hashlib.sha256(key.encode()).hexdigest(), scope, until))
    put(key)
    say("Save this key now: it is not shown again. Only its hash is stored.")
    say("Sign in to the page with it, or send `Authorization: Bearer …`; for this command line: HANSARD_API_KEY.")
    return exits.OK


def _list(path: Path) -> int:
    if _owner().exists():
        put(f"{account()}  admin  owner")
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if key := parse(line):
            put(visible(_shown(key)))
    return exits.OK


def _shown(key: Key) -> str:
    if key.expires is None:
        return f"{key.name}  {key.scope}"
    when = datetime.fromtimestamp(key.expires, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{key.name}  {key.scope}  {'expired' if key.expired(time.time()) else 'until'} {when}"


def _revoke(path: Path, name: str) -> int:
    """Write the file again without the key's line; the old file stays where that fails."""
    if name == account() and _owner().exists():
        _owner().unlink()
        say("The owner's key is revoked; the next server start creates a new one.")
        return exits.OK
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    kept = [line for line in lines if _name_of(line) != name]
    if kept == lines:
        raise Failed(f"{path} has no key for {name}.", code=exits.NOT_FOUND)
    new = path.with_name(f"{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(kept)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    say(f"Revoked the key of {name}.")
    return exits.OK


def _name_of(line: str) -> str:
    """Whose key it is; nothing for a comment or a blank line."""
    name, colon, _ = line.partition(":")
    return name.strip() if colon and not line.lstrip().startswith("#") else ""


def _configured() -> Path:
    return keys_file(HERE.settings())


def _owner() -> Path:
    return owner_file(HERE.settings())


def _append(path: Path, key: Key) -> None:
    """One line more, readable by its owner only; a name that is there already is refused."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        known = file.read()
        if any(_name_of(line) == key.name for line in known.splitlines()):
            raise Failed(f"{path} already has a key for {key.name}; revoke it first.", code=exits.REFUSED)
        file.write(("" if known.endswith("\n") or not known else "\n") + f"{key.line}\n")
