"""A shared file that was damaged: `verify` says which part and byte it is, in words."""

import base64
import random
import zlib
from collections.abc import Iterator

import pytest

from api.cli.shared_check import check_shared
from api.share.check import checked
from api.share.file_parts import part_at, place_of
from api.share.page import END, START
from api.share.record_damage import restored
from api.share.shared_record import PackedRecord
from domain.values.sentences import Sentence, in_language
from tests.api.scenes import two_iterations
from tests.api.server import inside
from tests.api.test_shared_files import KEY, record_of, rendered_file


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bytes]:
    with inside(tmp_path_factory.mktemp("shared")) as client:
        yield rendered_file(record_of(client, two_iterations(client))).encode()


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bytes]:
    with inside(tmp_path_factory.mktemp("cut")) as client:
        session_id = two_iterations(client, "A long finding. " * 3_000)
        yield rendered_file(record_of(client, session_id, wishes=("prompts", "transcripts"))).encode()


def flipped(content: bytes, at: int, bit: int = 1) -> bytes:
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]


def faults(content: bytes) -> tuple[Sentence, ...]:
    return checked(content).problems


def names(problems: tuple[Sentence, ...], at: int) -> bool:
    """Whether one of them is about this byte, or about a part of the record with it."""
    return any(
        each.params.get("number") == at + 1 or (each.code in WITH_RANGE and each.params["last"] > at)
        for each in problems
        if each.code.startswith(("shared_byte", "shared_record"))
    )


WITH_RANGE = ("shared_record_damaged", "shared_record_not_as_signed")
"""A change shows there, and may have been made before."""


def in_every_part(html: bytes, count: int, seed: int) -> Iterator[bytes | int]:
    chance = random.Random(seed)  # noqa: S311 - no secret
    place = place_of(html)
    assert place is not None
    yield from chance.sample(range(len(html)), count)
    yield from chance.sample(range(place.first, place.past), count)
    yield from (place.first - 1, place.first, place.past - 1, place.past, place.beside, place.beside + 87)


def check_flips(html: bytes, count: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    for at in in_every_part(html, count, seed):
        assert isinstance(at, int)
        problems = faults(flipped(html, at, 1 << chance.randrange(8)))
        assert problems and names(problems, at), (at, problems)
        assert not any("Error" in each or "zlib" in each for each in problems), problems


def test_a_changed_byte_is_named_wherever_it_is(html: bytes, cut: bytes) -> None:
    check_flips(html, 10, seed=1)
    check_flips(cut, 5, seed=2)


@pytest.mark.nightly
def test_a_thousand_changed_bytes_are_named(html: bytes, cut: bytes) -> None:
    check_flips(html, 500, seed=3)
    check_flips(cut, 250, seed=4)


def test_most_changed_bytes_of_the_record_are_named_to_the_byte(html: bytes) -> None:
    chance, place = random.Random(9), place_of(html)  # noqa: S311 - no secret
    assert place is not None
    places = chance.sample(range(place.first, place.past), 20)
    exact = [at for at in places if faults(flipped(html, at))[0].params.get("number") == at + 1]
    assert len(exact) > 15


@pytest.mark.parametrize(
    ("mark", "part"),
    [
        (b"<title>", "the beginning"),
        (b"<h1>", "the head"),
        (b"data-version=", "the list of events"),
        (b"<details>", "the turns"),
        (b"<details open>", "the changes"),
        (b'id="worklog">', "the worklog"),
        (b'id="proof">', "the checkpoint that is shown"),
        (b"use strict", "the script"),
    ],
)
def test_the_part_of_a_changed_byte_is_named(html: bytes, mark: bytes, part: str) -> None:
    at = html.index(mark) + 4
    said = faults(flipped(html, at))
    assert said == (f"Byte {at + 1} was changed: in {part}.",)
    assert part_at(html, at) == part
    assert part not in in_language(said[0], "ko")


def test_tags_around_the_record_are_named_as_well(html: bytes) -> None:
    for mark in (START, END):
        at = html.index(mark.encode(), html.index(START.encode()))
        for place in (at, at + 3, at + len(mark) - 1):
            assert names(faults(flipped(html, place)), place), (mark, place)


def test_what_is_missing_or_was_added_is_named(html: bytes) -> None:
    record = html.index(START.encode()) + len(START) + 50
    size = len(html)
    expected = {
        b"": "The file is empty.",
        html[:record]: f"The file ends within its record, after byte {record}: the rest is missing.",
        html[:-1]: f"The file ends after byte {size - 1} of {size}: the rest is missing.",
        html + b"\n": f"The file should end after byte {size}: what follows was added.",
        html[:100] + b"x" + html[100:]: "Something was put in or taken out at byte 101: in the beginning, lines 5.",
        html[:100]: "The file holds no record: it was not written by `hansard share`, or was changed.",
        b"<html>caf\xe9</html>": "The file holds no record: it was not written by `hansard share`, or was changed.",
    }
    for content, words in expected.items():
        assert faults(content) == (words.replace(", lines 5", f", line {html[:101].count(b'%c' % 10) + 1}"),)
    two = flipped(flipped(html, 30), html.index(b"<h1>"))
    assert "2 bytes were changed, the first is byte 31: in the beginning" in faults(two)[0]


def test_the_record_in_pieces_is_no_riddle(html: bytes) -> None:
    """However the record is damaged, the answer is a sentence, and in a moment."""
    place, chance = place_of(html), random.Random(6)  # noqa: S311 - no secret
    assert place is not None
    before, record, after = html[: place.first], place.record, html[place.past :]
    unpacked = zlib.decompress(base64.b64decode(record))
    packed = [zlib.compress(part) for part in (b"", b"{}", b"[1]", b"null", b'"a"', unpacked[:5_000], unpacked + b"}")]
    pieces = [
        base64.b64encode(each) for each in (*packed, b"", b"x", chance.randbytes(300), zlib.compress(b"{}") + b"x")
    ]
    pieces += [record[:-4], record[4:], record[: len(record) // 2] + record[len(record) // 2 + 1 :], record * 2, b"="]
    for piece in pieces:
        problems = faults(before + piece + after)
        assert problems and all(isinstance(each, Sentence) for each in problems), piece[:40]


def test_a_digit_is_found_by_what_fits() -> None:
    text = b"QUJDREVG"
    assert restored(text, range(8), lambda each: each == "QUJDREVH", 1) == 7
    assert restored(text, range(7), lambda each: each == "QUJDREVH", 1) is None
    assert restored(text, range(8), lambda each: each == "QUJDREVH", 10**12) is None


def test_only_so_much_of_a_file_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    html: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path_factory.mktemp("large") / "large.html"
    path.write_bytes(html)
    assert check_shared(path, None) == 0
    monkeypatch.setattr("api.cli.shared_check._LARGEST", len(html) - 1)
    assert check_shared(path, None) == 8
    assert "The file is larger than" in capsys.readouterr().out


def test_a_signature_of_another_record_does_not_fit(html: bytes) -> None:
    place = place_of(html)
    assert place is not None
    other = PackedRecord.of(PackedRecord(place.record.decode(), "").opened().model_copy(update={"language": "ko"}), KEY)
    content = html[: place.beside] + other.signature.encode() + html[place.beside + 88 :]
    said = faults(content)[0]
    assert said.code == "shared_record_not_as_signed" and names((said,), place.beside)
