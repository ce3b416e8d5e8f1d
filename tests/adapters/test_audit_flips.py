"""A flipped bit in any column of any table is found, except in what is no fact (promise P23)."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from adapters.proof.verify import verify_stored
from adapters.store.sql.compression import unpack
from adapters.store.sqlite.sealed_log import sealed
from tests.adapters.audited import copied, harmed, rows, verified, written
from tests.adapters.flips import outcome

NO_FACTS: Final = {
    "turns": {"worker", "lease_until", "used"},
    "secrets": {"value"},
    "epochs": {"number", "head"},
}
"""How often the log has gone back, who asked an agent and holds a turn until when, and the secret that signs people in:
damage there changes no record."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("flips"))


def columns(log: Path) -> list[tuple[str, str]]:
    """Every column that has values."""
    with closing(sqlite3.connect(log)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        result = [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]
    return [(table, column) for table, column in result if column not in NO_FACTS.get(table, ())]


def flipped(value: object, chance: random.Random) -> object:
    """The value with another bit; None for a text that would not be UTF-8."""
    match value:
        case int():
            return value ^ 1 << chance.randrange(40)
        case bytes() if value:
            return _flipped(value, chance)
        case str() if value:
            changed = _flipped(value.encode(), chance)
            try:
                return changed.decode()
            except UnicodeDecodeError:
                return None
        case _:
            return None


def _flipped(value: bytes, chance: random.Random) -> bytes:
    bit = chance.randrange(len(value) * 8)
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


KEYS: Final = {
    "events": "position",
    "texts": "digest",
    "receipts": "key",
    "turns": "turn_id",
    "keys": "name",
    "secrets": "name",
    "links": "digest",
}
SETTLED: Final = " WHERE state = 'done'"
"""The attempt of a turn that waits, or was cancelled, is that of a lease."""


def harms(log: Path, chance: random.Random, count: int) -> list[tuple[str, str, object, object]]:
    """Table, column, key and new value, some for each column."""
    result = []
    for table, column in columns(log):
        key, where = KEYS.get(table, "name"), SETTLED if column == "attempt" else ""
        values = rows(log, f"SELECT {key}, {column} FROM {table}{where}")
        for name, value in chance.sample(values, min(count, len(values))):
            changed = flipped(value, chance)
            if changed is not None and not _says_the_same(column, value, changed):
                result.append((table, column, name, changed))
    return result


def _says_the_same(column: str, value: object, changed: object) -> bool:
    """A packed state has bits that no reader needs; an attempt of 0 is that of an imported turn."""
    if isinstance(value, bytes) and isinstance(changed, bytes):
        return column == "state" and unpack(value) == unpack(changed)
    return (column, changed) == ("attempt", 0)


def was_harmed(path: Path, table: str, column: str, key: object, value: object) -> bool:
    """False where the table itself refuses the value."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            name = KEYS.get(table, "name")
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {name} = ?", (value, key))
        except sqlite3.IntegrityError:
            return False
        connection.commit()
    return True


def unnoticed(log: Path, folder: Path, seed: int, count: int) -> tuple[set[tuple[str, str]], list[str]]:
    """The columns that were tried, and what was not found."""
    tried, silent = set(), []
    for table, column, key, value in harms(log, random.Random(seed), count):  # noqa: S311 - the same flips again
        path = copied(log, folder)
        if was_harmed(path, table, column, key, value):
            tried.add((table, column))
            if outcome(path, None) != "found":
                silent.append(f"{table}.{column} of {key!r} -> {value!r}")
    return tried, silent


def test_a_flipped_bit_in_any_fact_of_any_table_is_found(log: Path, tmp_path: Path) -> None:
    tried, silent = unnoticed(log, tmp_path, 29, 4)
    assert silent == []
    assert {table for table, _ in tried} == {*KEYS, "sqlite_sequence"}
    assert {("receipts", "body"), ("turns", "attempt"), ("turns", "state"), ("keys", "expires")} <= tried


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_thousands_of_flipped_bits_in_all_columns_are_found(log: Path, tmp_path: Path, seed: int) -> None:
    assert unnoticed(log, tmp_path, seed, 25)[1] == []


def test_receipts_and_keys_of_an_older_version_have_nothing_to_compare_with(log: Path, tmp_path: Path) -> None:
    path = copied(log, tmp_path)
    harmed(
        path,
        "ALTER TABLE receipts DROP COLUMN digest",
        "DELETE FROM secrets",
        "UPDATE receipts SET status = 201 WHERE key = 'key-3'",
    )
    assert verified(path).faults == []
    with sealed(path) as store:
        assert verify_stored(store).faults == []


def test_a_changed_receipt_is_named(log: Path, tmp_path: Path) -> None:
    path = copied(log, tmp_path)
    harmed(path, "UPDATE receipts SET status = 201 WHERE key = 'key-3'")
    assert [fault.problem for fault in verified(path).faults] == ["the receipt of the key key-3 has been changed"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("name = replace(name, 'ffff', 'fffe')", "the revocation of the key fffe"),
        (
            "name = replace(name, 'revoked:', 'sevoked:')",
            "the table of secrets has an unknown entry: sevoked:",
        ),
        ("value = x'00'", "the revocation of the key ffff"),
    ],
)
def test_a_changed_revocation_is_found(log: Path, tmp_path: Path, change: str, problem: str) -> None:
    """Else the key would come back from a file."""
    path = copied(log, tmp_path)
    harmed(path, f"UPDATE secrets SET {change} WHERE name LIKE 'revoked:ffff%'")
    [fault] = verified(path).faults
    assert fault.problem.startswith(problem)
