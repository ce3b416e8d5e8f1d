"""The one strict decoder (contract §3, F11)."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.values.json import JSON, MAX_DEPTH, Malformed, decode


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"{}", {}),
        (b' \r\n\t{"a": [1, -2.5, true, false, null, "x"]}\n', {"a": [1, -2.5, True, False, None, "x"]}),
        ('"한글 😀"'.encode(), "한글 😀"),
        (rb'"\ud83d\ude00 \n \\u0000"', "😀 \n \\u0000"),
        ('{"a": {"a": 1}, "b": {"a": 2}}', {"a": {"a": 1}, "b": {"a": 2}}),
        (b"9007199254740992", 2**53),
        (b"-9007199254740992", -(2**53)),
        (b"1e308", 1e308),
        (b"1e-999", 0.0),
        (b'"\x7f"', "\x7f"),
    ],
)
def test_json_is_decoded(raw: bytes | str, value: JSON) -> None:
    assert decode(raw) == value


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "This is empty; expected JSON."),
        (" \n", "This is empty; expected JSON."),
        (b'{"a": "\xff"}', "This is not UTF-8: byte 7 does not belong there."),
        (b'"\xed\xa0\x80"', "This is not UTF-8: byte 1 does not belong there."),
        (b'\xef\xbb\xbf{"a": 1}', "This starts with a byte order mark; expected UTF-8 without one."),
        ("\ufeff1", "This starts with a byte order mark; expected UTF-8 without one."),
        ("{}".encode("utf-16"), "This is not UTF-8: byte 0 does not belong there."),
        ("{}".encode("utf-16-le"), "This holds U+0000 at line 1, column 2."),
        (b'{\n"a": "b\x00"}', "This holds U+0000 at line 2, column 8."),
        ('["\ud800"]', "This holds the lone surrogate U+D800 at line 1, column 3."),
        (rb'{"a": ["x", "\u0000"]}', 'A string holds U+0000 at "/a/1".'),
        (rb'{"a/b~": {"\u0000": 1}}', 'A string holds U+0000 at "/a~1b~0".'),
        (rb'"\udfff"', 'A string holds the lone surrogate U+DFFF at "".'),
        (rb'"\ude00\ud83d"', 'A string holds the lone surrogate U+DE00 at "".'),
        (b'{"verdict": "FAIL", "verdict": "PASS"}', 'The key "verdict" occurs twice in one object.'),
        (rb'[{"x": {"a": 1, "\u0061": 1}}]', 'The key "a" occurs twice in one object.'),
        (b"[NaN]", "NaN is not a JSON number."),
        (b"-Infinity", "-Infinity is not a JSON number."),
        (b"[1e999]", "The number 1e999 is too large."),
        (b"-1e999", "The number -1e999 is too large."),
        (b"9007199254740993", "The integer 9007199254740993 is beyond ±2^53."),
        (b"-9007199254740993", "The integer -9007199254740993 is beyond ±2^53."),
        (b"1" * 100_000, f"The integer {'1' * 60}… is beyond ±2^53."),
        (b"{} {}", "This is not JSON: extra data at line 1, column 4."),
        (b'{"a": 1 "b"}', "This is not JSON: expecting ',' delimiter at line 1, column 9."),
        (b"{'a': 1}", "This is not JSON: expecting property name enclosed in double quotes at line 1, column 2."),
        (b'[1,\n"a\nb"]', "This is not JSON: invalid control character at line 2, column 3."),
        (b"[", "This is not JSON: expecting value at line 1, column 2."),
        (b"nul", "This is not JSON: expecting value at line 1, column 1."),
    ],
)
def test_what_is_not_json_is_refused_in_a_sentence(raw: bytes | str, sentence: str) -> None:
    with pytest.raises(Malformed) as refused:
        decode(raw)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "raw", ['{"a": 1,}', "[1,]", "[,]", "01", "+1", ".5", "1.", "0x1", '"\\x41"', '"a', "// 1\n1", "\v1"]
)
def test_no_dialect_of_json_is_spoken(raw: str) -> None:
    with pytest.raises(Malformed, match=r"^This is not JSON: .+ at line \d, column \d\.$"):
        decode(raw)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_sixty_four_levels_are_the_most(opening: str, closing: str) -> None:
    assert decode(opening * 64 + "1" + closing * 64)
    with pytest.raises(Malformed, match=r"^This nests more than 64 levels deep at line 1, column \d+\.$"):
        decode(opening * 65 + "1" + closing * 65)


@pytest.mark.parametrize("hostile", ["[" * 100_000, '{"a":' * 100_000, '[{"a":' * 100_000, "[" * 99_000 + "]" * 99_000])
def test_very_deep_nesting_is_refused_before_parsing(hostile: str) -> None:
    with pytest.raises(Malformed, match="nests more than 64 levels"):
        decode(hostile)


def test_brackets_in_strings_and_side_by_side_add_no_depth() -> None:
    assert decode(json.dumps(["[" * 100 + '"' + "{" * 100 + "\\"])) == ["[" * 100 + '"' + "{" * 100 + "\\"]
    assert decode("[" + ",".join(["{}"] * 1000) + "]") == [{}] * 1000


def test_the_limit_can_be_lower() -> None:
    assert decode("[[1]]", max_depth=2) == [[1]]
    with pytest.raises(Malformed, match="more than 1 levels deep at line 1, column 2"):
        decode("[[1]]", max_depth=1)


_STRINGS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_STRINGS, inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES, st.booleans())
def test_every_value_that_json_can_hold_survives(value: JSON, ascii_only: bool) -> None:
    assert decode(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(
    st.binary()
    | st.text(st.characters(exclude_categories=[]))
    | st.text('{}[]",:\\u0d8eE+-.19 nulltrefasNI\n\x00\ufeff')
)
def test_nothing_but_malformed_is_raised(raw: bytes | str) -> None:
    try:
        value = decode(raw)
    except Malformed:
        return
    assert _clean(value, MAX_DEPTH)


def _clean(value: JSON, depth: int) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case str():
            return "\x00" not in value and value.encode().decode() == value
        case list():
            return depth > 0 and all(_clean(item, depth - 1) for item in value)
        case dict():
            return depth > 0 and all(_clean(key, depth) and _clean(item, depth - 1) for key, item in value.items())
        case _:
            return True
