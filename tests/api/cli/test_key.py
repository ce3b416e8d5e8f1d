"""API keys: shown once, stored as digests in the log or in a private file that servers import."""

import hashlib
import re
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.location import open_store
from api.cli.options import HERE
from api.node.access import Keys, keys_in
from api.node.owner import account, keys_file
from tests.api.cli.conftest import Hansard, Result

Filed = Callable[..., Result]


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "api-keys"


@pytest.fixture
def filed(hansard: Hansard, keys: Path) -> Filed:
    """`hansard key` with a file."""
    return lambda *words: hansard("key", *words, "--file", str(keys))


def read(keys: Path, **more: Callable[[], float]) -> Keys:
    return Keys(keys_in(keys), **more)


def test_a_key_is_printed_once_and_only_its_digest_is_kept(filed: Filed, keys: Path) -> None:
    result = filed("new", "alice")
    key = result.out.strip()
    assert result.code == 0
    assert len(key) > 40
    assert keys.read_text() == f"alice:{hashlib.sha256(key.encode()).hexdigest()}:operate\n"
    assert key not in result.err
    assert read(keys).name_of(key) == "alice"


def test_key_file_becomes_private(filed: Filed, keys: Path) -> None:
    keys.parent.mkdir()
    keys.write_text("# ours\nbob:00")
    keys.chmod(0o644)
    assert filed("new", "김철수").code == 0
    lines = keys.read_text().splitlines()
    assert keys.stat().st_mode & 0o777 == 0o600
    assert lines[:2] == ["# ours", "bob:00"]
    assert lines[2].startswith("김철수:")


def test_a_name_has_one_key(filed: Filed, keys: Path) -> None:
    filed("new", "alice")
    before = keys.read_text()
    result = filed("new", "alice")
    assert (result.code, result.out) == (4, "")
    assert "already has a key for alice" in result.err
    assert keys.read_text() == before


@pytest.mark.parametrize("name", ["a:b", "a b", "", ".a", "a\nb", "#a", "x" * 101])
def test_names_that_would_break_the_file_are_refused(filed: Filed, keys: Path, name: str) -> None:
    result = filed("new", name)
    assert (result.code, result.out) == (2, "")
    assert not keys.exists()


@pytest.mark.parametrize("words", [("add",), ("delete", "ann"), ("list", "ann"), ("owner", "ann"), ("new",)])
def test_a_word_that_is_no_action_creates_no_key(hansard: Hansard, words: tuple[str, ...]) -> None:
    result = hansard("key", *words)
    assert (result.code, result.out) == (2, "")
    assert hansard("key", "list").out == f"{account()}  admin\n"


def test_keys_are_in_the_log_by_digest(hansard: Hansard, own_log: Path) -> None:
    made = hansard("key", "new", "alice", "--scope", "read").out.strip()
    assert made.startswith("hansard_")
    assert hansard("key", "list").out == f"alice  read\n{account()}  admin\n"
    listed = [
        {"name": "alice", "scope": "read", "expires": None},
        {"name": account(), "scope": "admin", "expires": None},
    ]
    assert hansard("key", "list", "--json").json == listed
    assert made.encode() not in b"".join(path.read_bytes() for path in own_log.parent.glob("hansard.db*"))
    assert hansard("key", "new", "alice").code == 4
    assert hansard("key", "revoke", "alice").code == 0
    assert hansard("key", "revoke", "alice").code == 3
    assert hansard("verify").code == 0


def test_the_owners_key_is_shown_to_the_owner_and_replaced_when_revoked(hansard: Hansard) -> None:
    first = hansard("key", "owner").out
    assert hansard("key", "owner").out == first
    assert hansard("key", "list").out == f"{account()}  admin\n"
    assert hansard("key", "revoke", account()).code == 0
    assert hansard("key", "owner").out != first
    assert hansard("key", "list").out == f"{account()}  admin\n"


def test_keys_are_json_where_that_is_asked_for(hansard: Hansard) -> None:
    made = hansard("key", "new", "alice", "--expires", "1h", "--json").json
    assert made.keys() == {"name", "scope", "expires", "key"} and made["name"] == "alice"
    assert made["key"].startswith("hansard_")
    assert hansard("key", "owner", "--json").json == {"key": hansard("key", "owner").out.strip()}


def test_backup_keeps_keys_and_no_sign_ins(hansard: Hansard, own_log: Path, tmp_path: Path) -> None:
    hansard("key", "new", "alice")
    with closing(open_store(f"sqlite:///{own_log}")) as store:
        assert store.vault is not None
        secret = store.vault.secret("login", b"s" * 32)
        store.vault.put_link("d" * 64, "alice")
    copy = tmp_path / "copy.db"
    assert hansard("backup", str(copy)).code == 0
    assert b"s" * 32 not in copy.read_bytes() and secret == b"s" * 32
    with closing(open_store(f"sqlite:///{copy}")) as store:
        assert store.vault is not None
        assert [key.name for key in store.vault.all_keys()] == sorted(["alice", account()])
        assert store.vault.take_link("d" * 64) is None
        assert store.vault.secret("login", b"n" * 32) == b"n" * 32


def test_keys_move_with_the_log_and_revoked_ones_do_not_come_back(
    hansard: Hansard, own_log: Path, tmp_path: Path
) -> None:
    hansard("key", "new", "bob")
    listed = keys_file(HERE.settings())
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(f"eve:{'e' * 64}:read\nold:{'0' * 64}:read\n")
    assert "old  read" in hansard("key", "list").out
    assert hansard("key", "revoke", "old").code == 0
    assert "old" not in hansard("key", "list").out, "though the file still lists it"
    target = tmp_path / "target.db"
    moved = hansard("migrate", str(own_log), str(target))
    assert moved.code == 0, moved.err
    with closing(open_store(f"sqlite:///{target}")) as store:
        assert store.vault is not None
        assert [key.name for key in store.vault.all_keys()] == sorted(["bob", "eve", account()])
        assert store.vault.was_revoked("0" * 64)


def test_verify_names_an_invalid_key(hansard: Hansard, own_log: Path) -> None:
    import sqlite3

    hansard("key", "new", "bob")
    with closing(sqlite3.connect(own_log)) as log:
        log.execute("UPDATE keys SET digest = 'x' WHERE name = 'bob'")
        log.commit()
    result = hansard("verify")
    assert result.code == 8 and "the key of bob" in result.out + result.err


def test_keys_are_listed_and_revoked_by_name(filed: Filed, keys: Path) -> None:
    ada, bob = (filed("new", name).out.strip() for name in ("ada", "bob"))
    assert filed("list").out == "ada  operate\nbob  operate\n"
    assert filed("revoke", "ada").code == 0
    assert (read(keys).name_of(ada), read(keys).name_of(bob)) == (None, "bob")
    assert keys.stat().st_mode & 0o777 == 0o600
    assert filed("revoke", "ada").code == 3
    assert filed("revoke").code == 2
    assert filed("list").out == "bob  operate\n"


def test_a_key_has_a_scope_and_may_expire(filed: Filed, keys: Path) -> None:
    made = filed("new", "ada", "--scope", "turns", "--expires", "30d").out.strip()
    [line] = keys.read_text().splitlines()
    name, _, scope, expires = line.split(":")
    assert (name, scope) == ("ada", "turns")
    assert abs(int(expires) - time.time() - 30 * 86_400) < 60
    assert read(keys).name_of(made) == "ada"
    assert read(keys, now=lambda: int(expires)).name_of(made) is None
    assert re.fullmatch(r"ada  turns  until \S+Z\n", filed("list").out)


@pytest.mark.parametrize("wrong", [("--scope", "all"), ("--expires", "30"), ("--expires", "0d"), ("--expires", "1w")])
def test_an_unknown_scope_or_duration_is_refused(filed: Filed, keys: Path, wrong: tuple[str, str]) -> None:
    assert filed("new", "ada", *wrong).code == 2
    assert not keys.exists()
