"""API keys: shown once, kept as digests, in a file that only its owner reads."""

import hashlib
import re
import time
from pathlib import Path

import pytest

from api.http.keys import Keys
from api.owner import account
from tests.api.cli.conftest import Hansard


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "keys" / "api-keys"
    monkeypatch.setenv("HANSARD_API_KEYS_FILE", str(path))
    return path


def test_a_key_is_printed_once_and_only_its_digest_is_kept(hansard: Hansard, keys: Path) -> None:
    said = hansard("key", "alice")
    key = said.out.strip()
    assert said.code == 0
    assert len(key) > 40
    assert keys.read_text() == f"alice:{hashlib.sha256(key.encode()).hexdigest()}:operate\n"
    assert key not in said.err
    assert Keys(keys).name_of(key) == "alice"


def test_the_file_is_for_its_owner_whatever_it_was_before(hansard: Hansard, keys: Path) -> None:
    keys.parent.mkdir()
    keys.write_text("# ours\nbob:00")
    keys.chmod(0o644)
    assert hansard("key", "김철수").code == 0
    lines = keys.read_text().splitlines()
    assert keys.stat().st_mode & 0o777 == 0o600
    assert lines[:2] == ["# ours", "bob:00"]
    assert lines[2].startswith("김철수:")


def test_a_name_has_one_key(hansard: Hansard, keys: Path) -> None:
    hansard("key", "alice")
    before = keys.read_text()
    said = hansard("key", "alice")
    assert (said.code, said.out) == (4, "")
    assert "already has a key for alice" in said.err
    assert keys.read_text() == before


@pytest.mark.parametrize("name", ["a:b", "a b", "", ".a", "a\nb", "#a", "x" * 101])
def test_names_that_would_break_the_file_are_refused(hansard: Hansard, keys: Path, name: str) -> None:
    said = hansard("key", name)
    assert (said.code, said.out) == (2, "")
    assert not keys.exists()


def test_without_a_file_the_servers_own_is_used(hansard: Hansard) -> None:
    made = hansard("key", "alice").out.strip()
    assert made.startswith("hansard_")
    assert "alice  operate\n" in hansard("key", "list").out


def test_the_owners_key_is_shown_to_the_owner_and_replaced_when_revoked(hansard: Hansard) -> None:
    first = hansard("key", "owner").out
    assert hansard("key", "owner").out == first
    assert hansard("key", "list").out == f"{account()}  admin  owner\n"
    assert hansard("key", "revoke", account()).code == 0
    assert hansard("key", "owner").out != first


def test_keys_are_listed_and_revoked_by_name(hansard: Hansard, keys: Path) -> None:
    ada, bob = (hansard("key", "new", name).out.strip() for name in ("ada", "bob"))
    assert hansard("key", "list").out == "ada  operate\nbob  operate\n"
    assert hansard("key", "revoke", "ada").code == 0
    assert (Keys(keys).name_of(ada), Keys(keys).name_of(bob)) == (None, "bob")
    assert keys.stat().st_mode & 0o777 == 0o600
    assert hansard("key", "revoke", "ada").code == 3
    assert hansard("key", "revoke").code == 2
    assert hansard("key", "list").out == "bob  operate\n"


def test_a_key_has_a_scope_and_may_expire(hansard: Hansard, keys: Path) -> None:
    made = hansard("key", "new", "ada", "--scope", "turns", "--expires", "30d").out.strip()
    [line] = keys.read_text().splitlines()
    name, _, scope, expires = line.split(":")
    assert (name, scope) == ("ada", "turns")
    assert abs(int(expires) - time.time() - 30 * 86_400) < 60
    assert Keys(keys).name_of(made) == "ada"
    assert Keys(keys, now=lambda: int(expires)).name_of(made) is None
    assert re.fullmatch(r"ada  turns  until \S+Z\n", hansard("key", "list").out)


@pytest.mark.parametrize("wrong", [("--scope", "all"), ("--expires", "30"), ("--expires", "0d"), ("--expires", "1w")])
def test_an_unknown_scope_or_duration_is_refused(hansard: Hansard, keys: Path, wrong: tuple[str, str]) -> None:
    assert hansard("key", "new", "ada", *wrong).code == 2
    assert not keys.exists()
