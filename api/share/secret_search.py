"""Finds known secrets in texts, also as programs write them: encoded, escaped, and broken over lines.

Every text is read as it is and without its escapes (percent, backslash, HTML). Base64, base32 and hexadecimal digits
are not decoded but looked for: the digits of a secret depend on how many bytes stand before it in its group, so there
are as many spellings as a group has bytes. Only letters and digits are compared, so line ends, quotes, signs of a diff
and the two alphabets of base64 make no difference.
"""

import base64
import html
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from adapters.references import Secrets

_ROUNDS: Final = 3
"""How often escapes are taken out: an escaped text may have been escaped again."""
_LEAST: Final = 6
"""Digits of an encoded secret below which it may be there by chance."""
_LEAST_BROKEN: Final = 16
"""Letters and digits from which a secret is also found broken over lines, or with other signs between."""
_OTHERS: Final = bytes(byte for byte in range(256) if not (byte < 128 and chr(byte).isalnum()))
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-3][0-7]{2})|([\\/\"'nrt]))")
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t"}


class _Encoding(NamedTuple):
    """Digits in groups: so many bytes, each digit of so many bits."""

    encode: Callable[[bytes], bytes]
    group: int
    bits: int

    def digits(self, secret: bytes) -> Iterator[bytes]:
        """The digits that are the same whatever stands around the secret, for each place in a group."""
        for before in range(self.group):
            after = -(before + len(secret)) % self.group
            encoded = self.encode(bytes(before) + secret + bytes(after))
            yield encoded[-(-8 * before // self.bits) : 8 * (before + len(secret)) // self.bits]


_BASE64: Final = (_Encoding(base64.b64encode, 3, 6), _Encoding(base64.urlsafe_b64encode, 3, 6))
_BASE32: Final = _Encoding(base64.b32encode, 5, 5)


class SecretSearch:
    """Looks for the values of secrets in texts; remembers what it has looked at."""

    def __init__(self, secrets: Secrets) -> None:
        self._values = tuple(value for value, _ in secrets.spellings)
        self._digits = tuple(sorted({digits for value in self._values for digits in _digits(value)}))
        self._hex = tuple(value.encode(errors="replace").hex().encode() for value in self._values)
        self._seen: dict[str, bool] = {}

    def is_in(self, text: str) -> bool:
        """True if the text holds the value of a secret, in whatever form."""
        if not self._values or not text:
            return False
        if text not in self._seen:
            self._seen[text] = any(map(self._is_in, _readings(text)))
        return self._seen[text]

    def _is_in(self, text: str) -> bool:
        if any(value in text for value in self._values):
            return True
        letters = _letters(text.encode(errors="ignore"))
        if len(letters) < _LEAST:
            return False
        if any(digits in letters for digits in self._digits):
            return True
        pairs = letters.lower()
        array = pairs.replace(b"0x", b"")
        return any(digits in pairs or digits in array for digits in self._hex)


def _digits(secret: str) -> Iterator[bytes]:
    """Yields what is looked for among the letters and digits of a text."""
    content = secret.encode(errors="replace")
    once = [digits for encoding in _BASE64 for digits in encoding.digits(content)]
    twice = [digits for inner in once for encoding in _BASE64 for digits in encoding.digits(inner)]
    wide = [digits for encoding in _BASE64 for digits in encoding.digits(secret.encode("utf-16-le", errors="replace"))]
    for digits in (*once, *twice, *wide, *_BASE32.digits(content)):
        if len(letters := _letters(digits)) >= _LEAST:
            yield letters
    if len(letters := _letters(content)) >= _LEAST_BROKEN:
        yield letters


def _letters(content: bytes) -> bytes:
    return content.translate(None, _OTHERS)


def _readings(text: str) -> Iterator[str]:
    """The text as it is, and without its escapes."""
    yield text
    for _ in range(_ROUNDS):
        before = text
        for sign, change in (("%", unquote), ("\\", _unescaped), ("&", html.unescape)):
            if sign in text and (plain := change(text)) != text:
                text = plain
                yield text
        if text == before:
            return


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_letter, text)


def _letter(match: re.Match[str]) -> str:
    wide, byte, octal, sign = match.groups()
    if sign:
        return _LETTERS.get(sign, sign)
    return chr(int(octal, 8) if octal else int(wide or byte, 16))
