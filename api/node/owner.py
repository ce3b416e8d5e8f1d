"""The owner: the account that runs Hansard, its key from the first start, and where keys are kept."""

import getpass
import hashlib
import logging
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from adapters.files import private_folder
from adapters.store.keys import StoredKey, Vault
from api.node.access import keys_in, lines_without_key
from api.node.local_files import state_home
from api.node.settings import Settings, is_loopback

log = logging.getLogger(__name__)

_STRANGE: Final = re.compile(r"[^\w.@-]+")


def account() -> str:
    """The name of the account, in the form of key names."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        name = f"uid{os.getuid()}"
    return _STRANGE.sub("-", name).strip("-.@_")[:100] or "owner"


def actor() -> str:
    """The actor in the record if the account works on the log directly."""
    return f"person:{account()}"


def keys_file(settings: Settings) -> Path:
    """The file of keys to which `hansard key` writes."""
    return settings.api_keys_file or settings.node_dir / "keys" / "keys"


def owner_file(settings: Settings) -> Path:
    """The file that holds the owner's key."""
    return settings.node_dir / "keys" / "owner.key"


def forge_file(settings: Settings) -> Path:
    """The file with the settings of the forge: never one of a repository."""
    return settings.forge.expanduser() if settings.forge else owner_file(settings).with_name("forge.toml")


def owners_key(settings: Settings) -> Path:
    """The file with the owner's key, created if it is missing; always complete, even if two processes create it at
    once."""
    path = owner_file(settings)
    if not path.exists():
        private_folder(path.parent)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(f"hansard_{secrets.token_urlsafe(32)}\n")
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path


def take_over(vault: Vault, settings: Settings) -> None:
    """At the start: the keys of a file, and the owner's key. What was revoked does not come back."""
    file = keys_file(settings)
    if file == settings.api_keys_file and not os.access(file, os.R_OK):
        log.warning("HANSARD_API_KEYS_FILE: %s cannot be read; none of its keys is valid", file)
    for number in lines_without_key(file):
        log.warning(
            "line %d of %s is not a key and is ignored; `hansard key new NAME --file FILE` adds one", number, file
        )
    valid_keys = [key for key in keys_in(file) if not vault.was_revoked(key.digest)]
    by_name = {key.name: key for key in vault.all_keys()}
    for key in valid_keys:
        if key.name not in by_name:
            by_name[key.name] = StoredKey(key.name, key.digest, key.scope, key.expires)
            vault.add(by_name[key.name])
    named = {key.name for key in valid_keys}
    own = settings.log_file is not None
    if account() not in named and (own or account() not in by_name):
        _own(vault, settings, by_name.get(account()))


def _own(vault: Vault, settings: Settings, existing: StoredKey | None) -> None:
    """The owner's key, from its file. If there is no file, a new one is created, and the key of the lost file is
    revoked."""
    path = owner_file(settings)
    made = not path.exists()
    digest = _digest_in(owners_key(settings))
    if vault.was_revoked(digest):
        path.unlink(missing_ok=True)
        digest = _digest_in(owners_key(settings))
    if existing is not None and made:
        vault.remove(account())
    if existing is None or made:
        added = vault.add(StoredKey(account(), digest, "admin", None))
        if made and not added and settings.log_file is None:
            path.unlink()  # another machine was faster: it has the owner's key


def _digest_in(path: Path) -> str:
    return hashlib.sha256(path.read_bytes().strip()).hexdigest()


def key_for(address: str, settings: Settings) -> str:
    """The key to send to a server: HANSARD_API_KEY, otherwise the owner's on this machine; empty if there is none."""
    named = os.environ.get("HANSARD_API_KEY", "").strip()
    if named or not is_loopback(urlsplit(address).hostname or ""):
        return named
    try:
        path = _noted(urlsplit(address).port or 80) or owner_file(settings)
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):  # no server was started here, or by another account
        return ""


@contextmanager
def noted(settings: Settings, port: int) -> Iterator[None]:
    """While a server listens on the port, commands of this account find its owner's key there."""
    note, ours = _note(port), f"{os.getpid()} {_began(os.getpid())}\n{owner_file(settings)}"
    with suppress(OSError):
        private_folder(note.parent)
        note.write_text(ours, encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            if note.read_text(encoding="utf-8") == ours:
                note.unlink()


def _noted(port: int) -> Path | None:
    """The key file of the server on the port. A note that a killed server left says nothing: another account's
    program may listen there now, and would be shown the key."""
    try:
        process, _, path = _note(port).read_text(encoding="utf-8").partition("\n")
    except FileNotFoundError:
        return None
    pid, _, began = process.partition(" ")
    return Path(path) if pid.isdecimal() and _runs(int(pid)) and began == _began(int(pid)) else None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # now owned by another account
        return False
    return True


def _began(pid: int) -> str:
    """Returns when the process began, in kernel ticks: ids are reused. Empty where the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def _note(port: int) -> Path:
    return state_home() / "servers" / str(port)
