"""One file to show: what is in it, what is left out, and that every changed byte is noticed."""

import base64
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from adapters.proof.checkpoints import public_text
from adapters.references import NO_SECRETS, Secrets
from adapters.store.location import reading
from api.cli.shared_check import check_shared
from api.share import page
from api.share.check import checked
from api.share.collection import SharedSession, SharingRules
from api.share.file_to_show import MOST_BYTES, file_to_show, signed_file
from api.share.page import START
from api.share.shared_record import LeftOut, PackedRecord, SharedRecord
from domain.session.redaction import REDACTED
from tests.api.scenes import SCENES, exhausted, two_iterations
from tests.api.server import inside, session, system
from tests.benchmarks.test_views import LONG, long_session

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
THEIRS = Ed25519PrivateKey.from_private_bytes(bytes(32))
"""Whoever changes a file has no other key than one of their own."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("shared")) as result:
        yield result


def record_of(client: TestClient, session_id: str, version: int | None = None, **rules: object) -> SharedRecord:
    wanted = SharingRules(**{"secrets": NO_SECRETS, **rules})  # type: ignore[arg-type]
    session = SharedSession(system(client).store, session_id, version, KEY, wanted)
    return session.record(session.size)


def rendered_file(record: SharedRecord) -> str:
    return signed_file(record, KEY)


def forged_file(record: SharedRecord, **changes: object) -> str:
    return signed_file(record.model_copy(update=changes), THEIRS)


def problems(html: str) -> list[str]:
    return [str(problem) for problem in checked(html.encode()).problems]


@pytest.mark.parametrize("scene", sorted(SCENES))
def test_every_kind_is_shown_in_one_file_that_needs_nobody(client: TestClient, scene: str) -> None:
    html = rendered_file(record_of(client, SCENES[scene](client)))
    assert problems(html) == []
    assert "default-src &#39;none&#39;" in html
    assert not re.search(r"(?:src|href|action)=", html.split(START)[0].split("</head>")[1])
    body = html.split("</style>")[1].split(START)[0]
    assert "<script" not in body and "Hansard" in html


def test_it_can_be_as_of_a_version_and_in_korean(client: TestClient) -> None:
    session_id = two_iterations(client)
    record = record_of(client, session_id, 9, language="ko")
    html = rendered_file(record)
    assert len(record.events) == 9 and problems(html) == []
    assert 'lang="ko"' in html and "이 기록 확인" in html


@pytest.mark.parametrize(("language", "words"), [("en", "budget exhausted"), ("ko", "예산 소진")])
def test_the_head_says_in_words_why_it_ended(client: TestClient, language: str, words: str) -> None:
    html = rendered_file(record_of(client, exhausted(client), language=language))
    head = html.split("<main>")[0].split("<header>")[1]
    assert words in head and not re.search(r"[a-z]_[a-z]", head), head
    assert problems(html) == []


@pytest.mark.parametrize("language", ["en", "ko"])
def test_an_event_that_cannot_be_read_is_named_in_words(client: TestClient, language: str) -> None:
    record = record_of(client, two_iterations(client), language=language)
    events = tuple(event.model_copy(update={"cut": True, "state": "{}"}) for event in record.events)
    rows = rendered_file(record.model_copy(update={"events": events})).split("<tbody>")[1].split("</tbody>")[0]
    assert not re.search(r"[a-z][._][a-z]|[{}]", re.sub("<[^>]*>", "", rows)), rows


def test_prompts_are_out_unless_asked_for(client: TestClient) -> None:
    session_id = two_iterations(client)
    words = "You are the reviewer of a delivery"
    without = rendered_file(record_of(client, session_id))
    assert words not in without and problems(without) == []
    whole = rendered_file(record_of(client, session_id, wishes=("prompts", "transcripts")))
    assert words in whole and problems(whole) == []


def test_texts_with_a_known_secret_are_left_out_whole(client: TestClient) -> None:
    secret = "hunter2-correct-horse"
    session_id = two_iterations(client, f"The key {secret} is printed")
    secrets = Secrets.of({"KEY": secret})
    record = record_of(client, session_id, secrets=secrets, wishes=("prompts", "transcripts"))
    html = rendered_file(record)
    assert secret not in html and problems(html) == []
    assert {each.why for each in record.left_out} >= {"secret"}
    for each in record.left_out:
        assert each.digest in html


def test_texts_with_an_encoded_secret_are_left_out_as_well(client: TestClient) -> None:
    secret = "hunter2-correct-horse"
    encoded = (base64.b64encode(f"ann:{secret}".encode()).decode(), secret.encode().hex(), quote(f"{secret}/%"))
    for form in encoded:
        session_id = two_iterations(client, f"The key {form} is printed")
        rules = {"secrets": Secrets.of({"KEY": secret}), "wishes": ("prompts", "transcripts")}
        assert form in rendered_file(record_of(client, session_id, wishes=("prompts", "transcripts")))
        record = record_of(client, session_id, **rules)
        html = rendered_file(record)
        assert form not in html and form not in record.model_dump_json() and problems(html) == []
        assert {each.why for each in record.left_out} >= {"secret"}


def test_a_secret_as_the_name_of_a_field_is_left_out(client: TestClient) -> None:
    """Names of fields are names of files or agents where people chose them."""
    from api.share.collection import _blanked, _Sieve
    from api.share.secret_search import SecretSearch

    secret = "hunter2-correct-horse"
    sieve = _Sieve(SecretSearch(Secrets.of({"KEY": secret})), (), ())
    blanks = _blanked({"files": {f"{secret}.txt": {"words": "as they are"}}}, sieve, "")
    assert blanks.value == {"files": {"": {"words": "as they are"}}}
    assert [why for _, why in blanks.gone] == ["secret"]


def test_a_fault_of_the_rules_is_no_empty_page(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a record with an event that cannot be read may lack what the rules need."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    session_id = two_iterations(client, "The key hunter2-correct-horse is printed")
    whole = record_of(client, session_id)
    first = whole.events[0].model_copy(update={"cut": True, "state": "{}"})
    monkeypatch.setattr("api.share.page.fold", broken)
    with pytest.raises(ZeroDivisionError):
        rendered_file(whole)
    assert START in rendered_file(whole.model_copy(update={"events": (first, *whole.events[1:])}))


def test_a_record_that_was_written_again_is_noticed(client: TestClient) -> None:
    record = record_of(client, two_iterations(client))
    event = record.events[5]
    forged = event.model_copy(update={"state": event.state.replace('"at":', '"at":1')})
    events = (*record.events[:5], forged, *record.events[6:])
    html = forged_file(record, events=events)
    assert any("5" in each or "6" in each for each in problems(html))
    assert problems(forged_file(record, events=record.events[:-1])), "the last event has no proof"
    assert problems(forged_file(record, public_key=public_text(THEIRS)))


def test_what_is_left_of_a_cut_event_cannot_be_written_anew(client: TestClient) -> None:
    """Whoever has the file can say that any event is cut, and compute the proof of its hash."""
    session_id = two_iterations(client, "A long finding. " * 3_000)
    record = record_of(client, session_id, wishes=("prompts", "transcripts"))
    assert record.texts and not problems(rendered_file(record))
    forged = record.events[-1].model_copy(update={"cut": True, "state": record.events[-1].state.replace("e", "a")})
    updates: list[dict[str, object]] = [
        {},
        {"events": (*record.events[:-1], forged)},
        {"texts": dict(list(record.texts.items())[1:])},
        {"texts": dict.fromkeys(record.texts, REDACTED)},
        {"left_out": (*record.left_out, LeftOut(version=1, digest="0" * 64, why="long"))},
    ]
    for update in updates:
        said = problems(forged_file(record, **update))
        assert any("not as its key signed" in each for each in said), update
    with_theirs = forged_file(record, events=(*record.events[:-1], forged), public_key=public_text(THEIRS))
    assert problems(with_theirs), "the checkpoint is of the other key"


def test_the_same_record_in_other_letters_is_noticed(client: TestClient) -> None:
    """Many compressed texts unpack to one record, and base64 has letters of which some bits do not count."""
    record = record_of(client, two_iterations(client))
    packed = PackedRecord.of(record, KEY)
    content = zlib.decompress(base64.b64decode(packed.text))
    again = base64.b64encode(zlib.compress(content, 1)).decode()
    assert again != packed.text and problems(page.rendered_file(record, PackedRecord(again, packed.signature)))
    other = packed.signature[:-3] + chr(ord(packed.signature[-3]) + 1) + "=="
    assert base64.b64decode(other) == base64.b64decode(packed.signature)
    assert problems(page.rendered_file(record, PackedRecord(packed.text, other)))
    bomb = PackedRecord(base64.b64encode(zlib.compress(b" " * 600_000_000)).decode(), packed.signature)
    assert any("larger than any" in each for each in problems(page.rendered_file(record, bomb)))


LETTERS = 'abcdefghijklmnopqrstuvwxyz<&" \n'
KOREAN = "가나다라마바사아자차카타파하 \n"


@pytest.mark.parametrize(
    ("size", "letters"), [(0, LETTERS), (400, KOREAN), (3_900, LETTERS), (8_000, LETTERS), (8_000, KOREAN)]
)
def test_a_thousand_events_fit_however_long_their_texts_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: int, letters: str
) -> None:
    chance = random.Random(size)  # noqa: S311 - no secret
    long_session(tmp_path, 1_000, lambda: "".join(chance.choices(letters, k=size)) or "more")
    with reading(str(next(tmp_path.rglob("*.db")))) as log:
        record, html = file_to_show(log, LONG, None, KEY, SharingRules(NO_SECRETS))
    assert len(record.events) == 1_000
    assert len(html.encode()) <= MOST_BYTES
    assert problems(html) == []
    long = [each for each in record.left_out if each.why == "long"]
    assert bool(long) == bool(size)
    assert not long or len(html.encode()) > MOST_BYTES * 0.9, "no more than needed is left out"
    assert all(each.digest in html for each in long)
    assert html.count("<tr data-version=") == 1_000
    (tmp_path / "shown.html").write_text(html)
    assert check_shared(tmp_path / "shown.html", None) == 0
    said = f"Texts of which only the digest is in it: {len({each.digest for each in record.left_out})}."
    assert (said in capsys.readouterr().err) == bool(record.left_out)


def test_a_version_that_is_not_there(client: TestClient) -> None:
    from domain.values.base import Unknown

    session_id = two_iterations(client)
    with pytest.raises(Unknown):
        record_of(client, session_id, session(client, session_id)["version"] + 1)
