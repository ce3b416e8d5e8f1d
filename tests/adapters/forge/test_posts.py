"""Markers in posts, orders in the words of agents, and signatures of webhooks."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.forge.documents import cleaned, log_end
from adapters.forge.hooks import is_signed
from adapters.forge.marks import marked_text, marker_in, unmarked_text, without_orders


@given(st.text(max_size=300), st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._:/]{0,50}\Z"))
def test_a_marker_is_found_whatever_the_text_says(text: str, marker: str) -> None:
    marked = marked_text(text, marker)
    assert marker_in(marked) == marker
    assert marker_in(unmarked_text(marked)) is None


@pytest.mark.parametrize("marker", ["", "a b", "-->", "a--b", "x" * 300, "a\nb", "-a"])
def test_a_marker_cannot_end_the_comment_that_hides_it(marker: str) -> None:
    with pytest.raises(ValueError, match="not a marker"):
        marked_text("Done", marker)


def test_a_marker_inside_a_text_is_none() -> None:
    assert marker_in("<!-- hansard s1/done -->\nmore") is None
    assert marker_in("> <!-- hansard s1/done -->") == "s1/done"  # which is why only our own posts count
    assert marker_in(marked_text("<!-- hansard s2/x -->", "s1/done")) == "s1/done"


@pytest.mark.parametrize("text", ["/merge", "  /close", "> /approve", "a\n/label ~x", "```\n/lgtm\n```"])
def test_orders_to_a_forge_or_a_bot_are_none(text: str) -> None:
    lines = without_orders(text).splitlines()
    assert not any(line.lstrip("> ").startswith("/") for line in lines)


def test_nobody_is_called_and_addresses_stay() -> None:
    assert without_orders("@dependabot merge") == "@\u200bdependabot merge"
    assert without_orders("see src/a.py, a@b.c, 1/2") == "see src/a.py, a@b.c, 1/2"


def test_a_log_is_cut_after_the_failure_and_free_of_decoration() -> None:
    log = (
        "2026-11-29T10:00:00.1234567Z collected 2 items\n2026-11-29T10:00:01.1234567Z \x1b[31m1 failed\x1b[0m\n"
        "2026-11-29T10:00:01.2234567Z ##[error]Process completed with exit code 1.\n"
        "2026-11-29T10:00:02.1234567Z Post job cleanup.\n"
    )
    assert log_end(log) == "collected 2 items\n1 failed\n##[error]Process completed with exit code 1."
    assert log_end("10 %\r50 %\r100 %\nERROR: Job failed: exit code 1\nCleaning up\n").startswith("100 %\nERROR")
    assert cleaned("a\x00\x1b[1mb\u202e") == "a[1mb"


# -- webhooks ----------------------------------------------------------------------------------------------------------


def signature(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_githubs_published_example_is_signed() -> None:
    """From GitHub's documentation of webhooks."""
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert is_signed({"x-hub-signature-256": expected}, b"Hello, World!", "It's a Secret to Everybody")


def test_a_hook_counts_only_with_the_secret() -> None:
    body = b'{"action": "opened"}'
    assert is_signed({"x-hub-signature-256": signature(body, "s")}, body, "s")
    assert is_signed({"x-gitlab-token": "s"}, body, "s")
    refused: list[dict[str, str]] = [
        {},
        {"x-hub-signature-256": signature(body, "other")},
        {"x-hub-signature-256": signature(b"{}", "s")},
        {"x-hub-signature-256": signature(body, "s").removeprefix("sha256=")},
        {"x-hub-signature-256": ""},
        {"x-hub-signature": signature(body, "s")},
        {"x-gitlab-token": ""},
        {"x-gitlab-token": "S"},
        {"x-gitlab-token": "ü"},
        {"x-hub-signature-256": "ü", "x-gitlab-token": "s"},
    ]
    assert [headers for headers in refused if is_signed(headers, body, "s")] == []
    assert not is_signed({"x-gitlab-token": "", "x-hub-signature-256": signature(body, "")}, body, "")
