"""Secrets in texts that are shared: where they are collected from, and in which forms they are found."""

import base64
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from adapters.agents.team import load
from adapters.references import NO_SECRETS, Secrets
from api.node.owner import owner_file, owners_key
from api.node.settings import Settings
from api.share.known_secrets import known_secrets
from api.share.secret_search import SecretSearch

VALUES = ("sk-ant-api03-Zx81/qQ+9", "hunter2-correct-horse", 'pä"ss\\wörd&1', "tok_0123456789abcdef")


def base_64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "base64": base_64,
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of base64": lambda text: base_64(base_64(text)),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "basic login": lambda text: f"Authorization: Basic {base_64(f'ann:{text}')}",
    "JSON in base64": lambda text: base_64(json.dumps({"user": "ann", "key": text, "more": 1})),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "hex with colons": lambda text: text.encode().hex(":"),
    "array": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
    "percent": quote,
    "percent, everything": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent, twice": lambda text: quote(quote(text, safe="")),
    "form": quote_plus,
    "base64 in an address": lambda text: f"https://example.com/?key={quote(base_64(text), safe='')}",
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps({"key": text})),
    "JSON, all escaped": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "JSON, escaped strokes": lambda text: json.dumps(text).replace("/", "\\/"),
    "bytes in a shell": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "HTML": lambda text: text.replace("&", "&amp;").replace('"', "&quot;"),
    "HTML, all escaped": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_found_in_each_form(form: str, value: str) -> None:
    if form == "bytes in a shell" and not value.isascii():
        pytest.skip("bytes above 127 are no letters there")
    search = SecretSearch(Secrets.of({"KEY": value}))
    for before in ("", "a", "ab", "log: ", "/srv/x/"):
        words = f"{before}{FORMS[form](value)} and more"
        assert search.is_in(words), words
    assert not search.is_in(FORMS[form](value[:3] + "another value" + value[3:]))


@pytest.mark.parametrize("inside", ["\n", "\r\n", "\n+", "\n   ", '" +\n    "', "\\n"])
def test_an_encoded_secret_is_found_over_line_ends(inside: str) -> None:
    value = VALUES[0]
    for text in (value, base_64(f"key={value}\n"), value.encode().hex()):
        broken = inside.join(text[at : at + 7] for at in range(0, len(text), 7))
        assert SecretSearch(Secrets.of({"KEY": value})).is_in(broken), broken


def test_ordinary_texts_hold_no_secret() -> None:
    secrets = Secrets.of({str(number): value for number, value in enumerate((*VALUES, "q7wz", "Mended."))})
    search, chance = SecretSearch(secrets), random.Random(3)  # noqa: S311 - no secret
    for path in Path("api").rglob("*.py"):
        assert not search.is_in(path.read_text()), path
    assert not search.is_in("".join(chance.choices("0123456789abcdef", k=200_000)))
    assert not SecretSearch(NO_SECRETS).is_in(VALUES[0])


@pytest.mark.alone
def test_long_texts_are_searched_fast() -> None:
    chance = random.Random(5)  # noqa: S311 - no secret
    search = SecretSearch(Secrets.of({str(number): chance.randbytes(20).hex() for number in range(10)}))
    for letters in ("abcdefghij \n", "%41", "\\u0041\\n", "&amp;&", "QUJD"):
        text = "".join(chance.choices(letters, k=100_000)) + letters * (400_000 // len(letters))
        began = time.perf_counter()
        assert not search.is_in(text)
        assert time.perf_counter() - began < 3


def test_known_secrets_come_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=tmp_path, database="postgresql://ann:Sesame9@db/x")
    owners_key(settings)
    (tmp_path / "hook").write_text("from-a-file-1\n")
    monkeypatch.setenv("FORGE_LOGIN", "from-the-forge-1")
    (tmp_path / "keys" / "forge.toml").write_text(f'token = "env:FORGE_LOGIN"\nsecret = "file:{tmp_path}/hook"\n')
    environment = {
        "GITHUB_TOKEN": "from-a-variable-1",
        "AWS_SECRET_ACCESS_KEY": "from-a-variable-2",
        "HANSARD_API_KEY": "hansard_from-a-variable-3",
        "npm_config__authToken": "from-a-variable-4",
        "HTTPS_PROXY": "http://ann:a%20proxy@10.0.0.1:3128",
        "PGPASSWORD": "postgres",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/ann/key.json",
        "MONKEY": "a-long-value-1",
        "KEYBOARD": "a-long-value-2",
        "TOKEN": "short",
        "CACHE": "redis://cache:cache@cache/1",
    }
    found = known_secrets(load(None), settings, environment)
    values = {value for value, _ in found.spellings}
    own = owner_file(settings).read_text().strip()
    assert values == {
        *("from-a-variable-1", "from-a-variable-2", "hansard_from-a-variable-3", "from-a-variable-4"),
        *("a%20proxy", "a proxy", "Sesame9", own, "from-the-forge-1", "from-a-file-1"),
    }
