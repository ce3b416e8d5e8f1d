"""Errors of the adapters are sentences with a code, so that people read them in their language."""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.proof.checkpoints import check_proof, known_key, public_key, public_text, signing_key
from adapters.proof.transfer import take_in
from adapters.store.memory import MemoryStore
from adapters.store.sqlite.store import SqliteStore
from domain.values.base import HansardError
from domain.values.sentences import in_language, sentence_of

HANGUL = re.compile("[가-힣]")


def other_database(folder: Path) -> None:
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
    SqliteStore(str(folder / "other.db"))


def no_database(folder: Path) -> None:
    (folder / "no.db").write_bytes(b"no database" * 1_000)
    SqliteStore(str(folder / "no.db"))


def imported(*lines: bytes) -> Callable[[Path], None]:
    def act(_: Path) -> None:
        take_in(MemoryStore(), lines)

    return act


def proved(folder: Path) -> None:
    check_proof({}, public_key(public_text(signing_key(folder / "key"))))


@pytest.mark.parametrize(
    ("act", "english", "korean"),
    [
        (other_database, "is another program's SQLite database", "다른 프로그램의 SQLite 데이터베이스입니다"),
        (no_database, "cannot be opened: file is not a database.", "열 수 없습니다: file is not a database."),
        (imported(), "The file is cut off", "파일이 잘렸습니다."),
        (imported(b"{}\n"), "Line 1: this is not an export of", "1번째 줄: 형식"),
        (imported(b"{\n"), "Line 1: This is not JSON: ", "1번째 줄: JSON이 아닙니다"),
        (proved, "This is not a proof.", "증명이 아닙니다."),
        (lambda folder: known_key(folder / "key"), "There is no signing key", "key가 없습니다."),
        (lambda _: public_key("abc"), "This is not a public key: ", "공개 키가 아닙니다: "),
    ],
)
def test_an_error_is_worded_in_both_languages(
    tmp_path: Path, act: Callable[[Path], object], english: str, korean: str
) -> None:
    with pytest.raises(HansardError) as raised:
        act(tmp_path)
    sentence = sentence_of(raised.value)
    assert english in str(raised.value) and not HANGUL.search(str(raised.value))
    assert korean in in_language(sentence, "ko")
