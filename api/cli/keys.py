"""`key`: API keys. What is kept are digests: enough to check a key, not to use one."""

import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, Protocol

from adapters.store.keys import Vault
from api.cli import exits
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import changing
from api.cli.options import HERE
from api.cli.terminal import put, put_json, say, visible
from api.node.access import KNOWN_AFTER, Key, key_of, keys_in, seconds_of, stored
from api.node.owner import account, owner_file, owners_key, take_over
from api.node.scopes import Scope
from api.node.settings import Settings

_LAST_SHOWN: Final = 253_402_300_799
"""The last second of the year 9999."""
_NAME: Final = re.compile(r"[^\W_](?:[\w.@-]{0,98}[\w])?")


def key(
    action: Literal["new", "list", "revoke", "owner"],
    name: str | None,
    /,
    *,
    scope: Scope,
    expires: str | None,
    file: Path | None,
    json: bool,
) -> int:
    """Create, list and revoke API keys. A new key is printed once; only its SHA-256 is stored."""
    settings = HERE.settings()
    if (action, name) == ("owner", None):
        secret = _owners(settings)
        if json:
            put_json({"key": secret})
        else:
            put(secret)
        return exits.OK
    with _book(settings, file) as book:
        match action, name:
            case "list", None:
                _put_keys(tuple(book.keys()), json=json)
            case "new" | "revoke", None:
                raise Failed(sentence("Which key? `hansard key {action} NAME`.", action=action), code=exits.USAGE)
            case "new", str():
                _make(book, _new(name, scope, expires), json=json)
            case "revoke", str():
                say(book.revoke(name))
            case _:
                raise Failed(sentence("`hansard key {action}` takes no name.", action=action), code=exits.USAGE)
    return exits.OK


def _owners(settings: Settings) -> str:
    """The owner's key. In a database only its first server's machine has it."""
    path = owner_file(settings)
    if settings.log_file is None:
        if not path.exists():
            raise Failed(
                sentence("{path} does not exist: another machine has the owner's key.", path=path), code=exits.NOT_FOUND
            )
    else:
        with _vault(settings) as vault:
            take_over(vault, settings)
    return owners_key(settings).read_text(encoding="ascii").strip()


class KeyBook(Protocol):
    """The place where keys are kept."""

    def keys(self) -> Iterator[Key]:
        """All of them, by name."""

    def add(self, key: Key) -> None:
        """Raises Failed where the name has a key."""

    def revoke(self, name: str) -> str:
        """The deed in a sentence. Raises Failed where the name has no key."""


@contextmanager
def _book(settings: Settings, file: Path | None) -> Iterator[KeyBook]:
    if file is None:
        with _vault(settings) as vault:
            if settings.log_file is not None:
                take_over(vault, settings)
            yield SharedBook(vault, settings)
        return
    try:
        yield FileBook(file)
    except OSError as error:
        raise Failed(f"{file}: {exits.reason_of(error)}.") from None


@contextmanager
def _vault(settings: Settings) -> Iterator[Vault]:
    with changing(settings) as store:
        assert store.vault is not None, "every store on disk has keys"
        yield store.vault


def _make(book: KeyBook, pair: tuple[str, Key], *, json: bool) -> None:
    secret, made = pair
    book.add(made)
    if json:
        put_json({**_fields(made), "key": secret})
    else:
        put(secret)
    say(sentence("Save this key now: it is not shown again. Only its hash is stored."))
    say(
        sentence(
            "Sign in to the page with it, or send `Authorization: Bearer …`; for this command line: HANSARD_API_KEY."
        )
    )


def _new(name: str, scope: Scope, expires: str | None) -> tuple[str, Key]:
    """A new key, and what is kept of it."""
    if not _NAME.fullmatch(name):
        raise Failed(
            sentence("{name!r} is not a valid key name: use letters, digits and ._@- only.", name=name),
            code=exits.USAGE,
        )
    try:
        until = int(time.time()) + seconds_of(expires) if expires is not None else None
    except ValueError as error:
        raise Failed(f"--expires: {words_of(error)}", code=exits.USAGE) from None
    key = f"hansard_{secrets.token_urlsafe(32)}"
    return key, Key(name, hashlib.sha256(key.encode()).hexdigest(), scope, until)


def _put_keys(keys: tuple[Key, ...], *, json: bool) -> None:
    if json:
        put_json([_fields(key) for key in keys])
        return
    for key in keys:
        put(visible(_shown(key)))


def _fields(key: Key) -> dict[str, str | None]:
    return {"name": key.name, "scope": key.scope, "expires": _expiry(key)}


def _expiry(key: Key) -> str | None:
    if key.expires is None:
        return None
    shown = min(key.expires, _LAST_SHOWN)  # an older version or a key file may have any number
    return datetime.fromtimestamp(shown, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _shown(key: Key) -> str:
    when = _expiry(key)
    if when is None:
        return f"{key.name}  {key.scope}"
    until = sentence("expired {when}" if key.expired(time.time()) else "until {when}", when=when)
    return f"{key.name}  {key.scope}  {until}"


class FileBook:
    """A file with a line for each key, which servers take over when they start."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keys(self) -> Iterator[Key]:
        return iter(keys_in(self._path))

    def add(self, key: Key) -> None:
        _append(self._path, key)

    def revoke(self, name: str) -> str:
        _remove(self._path, name)
        return sentence("Removed the key of {name} from {path}.", name=name, path=self._path)


class SharedBook:
    """The keys of a log, which every server on it knows."""

    def __init__(self, vault: Vault, settings: Settings) -> None:
        self._vault, self._settings = vault, settings

    def keys(self) -> Iterator[Key]:
        return map(key_of, self._vault.all_keys())

    def add(self, key: Key) -> None:
        if not self._vault.add(stored(key)):
            place = self._settings.log_name
            raise Failed(
                sentence("{place} already has a key for {name}; revoke it first.", place=place, name=key.name),
                code=exits.REFUSED,
            )
        time.sleep(KNOWN_AFTER)  # then it holds on every server

    def revoke(self, name: str) -> str:
        if not self._vault.remove(name):
            raise Failed(
                sentence("{log_name} has no key for {name}.", log_name=self._settings.log_name, name=name),
                code=exits.NOT_FOUND,
            )
        time.sleep(KNOWN_AFTER)  # then it holds on every server
        if name != account() or self._settings.log_file is None:
            return sentence("Revoked the key of {name}.", name=name)
        owner_file(self._settings).unlink(missing_ok=True)
        return sentence("The owner's key is revoked; `hansard key owner` or the next server start creates a new one.")


def _remove(path: Path, name: str) -> None:
    """Write the file again without the key's line; the old file stays where that fails."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    others = [line for line in lines if _name_of(line) != name]
    if others == lines:
        raise Failed(sentence("{path} has no key for {name}.", path=path, name=name), code=exits.NOT_FOUND)
    new = path.with_name(f"{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(others)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _name_of(line: str) -> str:
    """Whose key it is; nothing for a comment or a blank line."""
    name, colon, _ = line.partition(":")
    return name.strip() if colon and not line.lstrip().startswith("#") else ""


def _append(path: Path, key: Key) -> None:
    """One line more, readable by its owner only; a name that is there already is refused."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        content = file.read()
        if any(_name_of(line) == key.name for line in content.splitlines()):
            raise Failed(
                sentence("{path} already has a key for {name}; revoke it first.", path=path, name=key.name),
                code=exits.REFUSED,
            )
        file.write(("" if content.endswith("\n") or not content else "\n") + f"{key.line}\n")
