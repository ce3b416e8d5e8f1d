"""Signed checkpoints (C2SP tlog-checkpoint) and proofs of inclusion, for someone who has only a public key."""

import base64
import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from adapters.proof.checkpoints import (
    NotProved,
    SignedHead,
    head,
    holds,
    known_key,
    opened,
    public_key,
    public_text,
    sign,
    signing_key,
)
from adapters.proof.inclusion import prove
from adapters.proof.inclusion_check import check_proof
from adapters.proof.transfer import take_in
from adapters.proof.verify import verify
from domain.values.base import Unknown
from tests.adapters import audited

KEY = Ed25519PrivateKey.from_private_bytes(
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
)
"""The first test key of RFC 8032 (§7.1)."""
PUBLIC = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
CHECKPOINT = SignedHead("hansard", 5, hashlib.sha256(b"five").digest())


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited.written(tmp_path_factory.mktemp("checkpoints"), steps=15)


@pytest.fixture(scope="module")
def proof(log: Path) -> dict[str, Any]:
    with audited.opened(log) as store:
        row = next(row for row in list(store.rows.events())[20:] if row.version > 2)
        result: dict[str, Any] = json.loads(json.dumps(prove(store, row.stream, row.version, KEY)))
    return result


# -- notes -----------------------------------------------------------------------------------------------------------


def test_a_note_is_body_blank_line_and_signature_lines() -> None:
    body, _, signature = sign(CHECKPOINT, KEY).partition("\n\n")
    assert body == f"hansard\n5\n{base64.b64encode(CHECKPOINT.root).decode()}"
    dash, name, data = signature.removesuffix("\n").split(" ")
    assert (dash, name) == ("\N{EM DASH}", "hansard")
    raw = base64.b64decode(data)
    public = base64.b64decode(PUBLIC)
    assert raw[:4] == hashlib.sha256(b"hansard\n\x01" + public).digest()[:4], "the key id of C2SP signed-note"
    KEY.public_key().verify(raw[4:], f"{body}\n".encode())
    assert len(raw) == 4 + 64


def test_a_note_opens_with_the_key_that_signed_it() -> None:
    assert public_text(KEY) == PUBLIC
    assert opened(sign(CHECKPOINT, KEY), public_key(f" {PUBLIC}\n")) == CHECKPOINT


def test_a_note_that_others_signed_too_still_opens() -> None:
    note = sign(CHECKPOINT, KEY)
    witness = sign(CHECKPOINT, OTHER).partition("\n\n")[2].replace(" hansard ", " a.witness/1 ")
    assert opened(note + witness, KEY.public_key()) == CHECKPOINT
    assert opened(note.replace("\n\n", f"\n\n{witness}"), KEY.public_key()) == CHECKPOINT


def test_another_key_opens_nothing() -> None:
    with pytest.raises(NotProved, match="not signed with this key"):
        opened(sign(CHECKPOINT, KEY), OTHER.public_key())


@pytest.mark.parametrize(
    "change",
    [
        lambda note: note.replace("\n5\n", "\n6\n"),
        lambda note: note.replace("hansard\n", "hansart\n", 1),
        lambda note: note.replace("\n5\n", "\n05\n"),
        lambda note: note.replace("\n5\n", "\n 5\n"),
        lambda note: note.replace("\n5\n", "\n٥\n"),
        lambda note: note.replace("\n5\n", "\n5\nmore\n"),
        lambda note: note.replace("=\n\n", "\n\n"),
        lambda note: note.replace("\n\n", "\n"),
        lambda note: note.replace("\n\n", "\n\n\n"),
        lambda note: note.replace("\N{EM DASH}", "-"),
        lambda note: note.rstrip("\n"),
        lambda note: note.partition("\n\n")[0] + "\n\n",
        lambda note: note.replace("\n", "\r\n"),
        lambda note: note[:-10] + "\n",
        lambda note: "",
        lambda note: "\n\n",
        lambda note: note.partition("\n\n")[0] + "\n\n\N{EM DASH} hansard AAAA\n",
    ],
)
def test_a_changed_note_is_refused(change: Any) -> None:
    note = sign(CHECKPOINT, KEY)
    assert change(note) != note
    with pytest.raises(NotProved):
        opened(change(note), KEY.public_key())


@given(st.integers(0, len(sign(CHECKPOINT, KEY).encode()) * 8 - 1))
def test_no_flipped_bit_opens(bit: int) -> None:
    raw = bytearray(sign(CHECKPOINT, KEY).encode())
    raw[bit // 8] ^= 1 << bit % 8
    try:
        result = opened(raw.decode(errors="surrogateescape"), KEY.public_key())
    except NotProved:
        return
    # the last sextet of a base64 group has bits that say nothing
    assert result == CHECKPOINT and bit // 8 >= len(raw) - 5


@given(st.text())
def test_no_words_break_it(words: str) -> None:
    for note in (words, f"hansard\n5\n{words}\n\n\N{EM DASH} hansard {words}\n"):
        with pytest.raises(NotProved):
            opened(note, KEY.public_key())


@pytest.mark.parametrize("words", ["", "x", PUBLIC[:-4], PUBLIC + "AAAA", "\u00e4" * 44])
def test_an_invalid_public_key_is_refused(words: str) -> None:
    with pytest.raises(NotProved, match="not a public key"):
        public_key(words)


# -- the log's own key -----------------------------------------------------------------------------------------------


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "signing.key"
    with pytest.raises(NotProved, match="There is no signing key"):
        known_key(path)
    assert not path.exists()
    first = public_text(signing_key(path))
    assert (public_text(signing_key(path)), public_text(known_key(path))) == (first, first)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("words", [b"", b"nonsense", b"AAAA", b"\xff\xfe"])
def test_a_broken_key_is_a_sentence_and_not_replaced(tmp_path: Path, words: bytes) -> None:
    path = tmp_path / "signing.key"
    path.write_bytes(words)
    with pytest.raises(NotProved, match="cannot be read"):
        signing_key(path)
    assert path.read_bytes() == words


# -- the log ---------------------------------------------------------------------------------------------------------


def test_a_longer_log_still_contains_what_was_signed(tmp_path: Path) -> None:
    with audited.opened(tmp_path / "log.db") as store:
        empty = head(store)
    assert (empty.size, empty.root) == (0, hashlib.sha256(b"").digest())
    log = audited.written(tmp_path / "grown", steps=5)
    with audited.opened(log) as store:
        assert holds(store, empty) is None
        now = head(store)
        assert holds(store, now) is None
        assert holds(store, SignedHead("hansard", now.size + 1, now.root)) == (
            f"the log has been cut: {now.size + 1} events were signed, {now.size} are there"
        )
        assert holds(store, SignedHead("hansard", now.size, bytes(32))) == (
            f"the first {now.size} events are not those that were signed"
        )


def test_a_damaged_log_is_not_signed(log: Path, tmp_path: Path) -> None:
    path = audited.copied(log, tmp_path)
    audited.harmed(path, "UPDATE events SET state = x'7b7d' WHERE position = 9")
    with audited.opened(path) as store, pytest.raises(NotProved, match="position 9 has been changed"):
        head(store)


# -- proofs ----------------------------------------------------------------------------------------------------------


def test_every_event_can_be_proved(log: Path) -> None:
    with audited.opened(log) as store:
        rows = list(store.rows.events())
        for row in rows[:: len(rows) // 12]:
            result = prove(store, row.stream, row.version, KEY)
            assert result["event"]["state"] == row.state.decode()
            assert check_proof(result, KEY.public_key()) == head(store)


def test_what_is_not_there_cannot_be_proved(log: Path) -> None:
    with audited.opened(log) as store:
        with pytest.raises(Unknown):
            prove(store, "delivery-a0", 99_999, KEY)
        with pytest.raises(Unknown):
            prove(store, "delivery-nobody", 1, KEY)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("event", "session"), "delivery-x"),
        (("event", "version"), 1),
        (("event", "version"), "2"),
        (("event", "type"), "turn.failed"),
        (("event", "state"), "{}"),
        (("event", "state"), "\ud800"),
        (("event",), None),
        (("previousHash",), ""),
        (("previousHash",), "00" * 32),
        (("previousHash",), "zz"),
        (("index",), 0),
        (("index",), -1),
        (("index",), "20"),
        (("index",), float("inf")),
        (("index",), 10**30),
        (("proof",), []),
        (("proof",), [None]),
        (("proof",), ["00"] * 7),
        (("proof",), {}),
        (("checkpoint",), ""),
        (("checkpoint",), None),
        (("checkpoint",), sign(CHECKPOINT, KEY)),
        (("checkpoint",), sign(CHECKPOINT, OTHER)),
    ],
)
def test_a_changed_proof_proves_nothing(proof: dict[str, Any], place: tuple[str, ...], value: object) -> None:
    changed = copy.deepcopy(proof)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    check_proof(proof, KEY.public_key())
    with pytest.raises(NotProved):
        check_proof(changed, KEY.public_key())


def test_the_boundary_between_the_previous_hash_and_the_event_cannot_be_moved(proof: dict[str, Any]) -> None:
    """Else a part of an event's words could be shown as an event of its own."""
    event, previous = proof["event"], bytes.fromhex(proof["previousHash"])
    assert event["version"] > 1
    moved = len(event["session"]).to_bytes(4, "big") + event["session"].encode()
    for longer in (previous + moved, previous[:-1], previous * 2, b""):
        with pytest.raises(NotProved):
            check_proof(proof | {"previousHash": longer.hex()}, KEY.public_key())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["event", "previousHash", "index", "proof", "checkpoint", "all"]), _JSON)
def test_hostile_json_is_not_accepted_as_a_proof(proof: dict[str, Any], place: str, value: Any) -> None:
    if place != "all" and value == proof[place]:
        return
    with pytest.raises(NotProved):
        check_proof(value if place == "all" else proof | {place: value}, KEY.public_key())


def test_a_log_with_a_redaction_of_an_older_version_is_signed(tmp_path: Path) -> None:
    """Its hashes do not fit any more, and the redaction says why; another change beside it is not signed."""
    golden = Path(__file__).parents[1] / "golden" / "0.1.0-redacted.jsonl"
    path = tmp_path / "log.db"
    with audited.opened(path) as store:
        take_in(store, golden.read_bytes().splitlines(keepends=True))
        signed = head(store)
        assert signed.size == store.head()
        assert holds(store, signed) is None
        assert verify(store, covered=signed.size).faults != []
        [digest] = {text.digest for text in verify(store).redacted}
        assert verify(store, covered=signed.size, allowed={digest}).faults == []
    audited.harmed(path, "UPDATE events SET state = cast(plain(state) || ' ' AS BLOB) WHERE position = 1")
    with audited.opened(path) as store, pytest.raises(NotProved, match="position 1 "):
        head(store)
