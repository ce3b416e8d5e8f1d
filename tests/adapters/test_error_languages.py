"""Errors of the adapters are sentences with a code, so that people read them in their language."""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.agents.team import load
from adapters.project import parse
from adapters.proof.checkpoints import known_key, public_key, public_text, signing_key
from adapters.proof.inclusion_check import check_proof
from adapters.proof.transfer import take_in
from adapters.store.sqlite.store import SqliteStore
from domain.values.base import HansardError, Invalid
from domain.values.sentences import in_language, sentence_of
from tests.kit.memory_store import MemoryStore

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


def team(text: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        (folder / "team.toml").write_text(text, encoding="utf-8")
        load(folder / "team.toml")

    return act


def an_agent(lines: str, adapter: str = "command") -> Callable[[Path], None]:
    return team(f'[[agents]]\nname = "Ada"\nroles = ["dev"]\nadapter = "{adapter}"\n[agents.settings]\n{lines}\n')


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
        (team("agents = []"), "agents: must list at least one", "agents: 하나 이상 적어야 합니다"),
        (team("[[agents]]\nname = 1"), "name: Input should be a valid string", "텍스트여야 합니다"),
        (team('[[agents]]\nname = "A"\npreset = "x"'), "there is no preset 'x'", "그런 프리셋이 없습니다"),
        (an_agent("", "telepathy"), "there is no adapter 'telepathy'", "그런 어댑터가 없습니다"),
        (an_agent("argv = ['a/b']"), "the program must be a bare name", "프로그램은 이름만"),
        (an_agent("argv = ['a', '{it}']"), "there is no placeholder {it}", "{it}: 그런 자리 표시자가 없습니다"),
        (an_agent("argv = ['a']\nenv = {A_KEY = 'x'}"), "env: A_KEY looks like a secret", "비밀로 보입니다"),
        (an_agent("argv = ['a']\nspeed = 1"), "settings.speed: there is no such key", "그런 키가 없습니다"),
        (an_agent("argv = ['a']\noutput = 'json'"), 'output = "json" needs text_path', "text_path가 있어야 합니다"),
        (an_agent("model = 'm'\nbase_url = 'h'", "model"), "must begin with http://", "http://나 https://로 시작"),
        (lambda _: parse("["), "not TOML: ", "TOML이 아닙니다: "),
        (lambda _: parse("[workspace]\ncopy = ['/etc']"), "a path inside the repository", "저장소 안의 경로여야"),
        (lambda _: parse("[workspaces]"), "unknown key", "알 수 없는 키입니다"),
    ],
)
def test_an_error_is_worded_in_both_languages(
    tmp_path: Path, act: Callable[[Path], object], english: str, korean: str
) -> None:
    with pytest.raises(HansardError) as raised:
        act(tmp_path)
    sentences = raised.value.errors.values() if isinstance(raised.value, Invalid) else [sentence_of(raised.value)]
    [sentence] = sentences
    assert english in sentence and not HANGUL.search(sentence)
    assert korean in in_language(sentence, "ko")
