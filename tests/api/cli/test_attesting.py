"""`attest` and `trace`: standard tools verify and read their output."""

import base64
import hashlib
import json
import re
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from tests.api.cli.conftest import Hansard
from tests.api.cli.kept import git
from tests.api.cli.test_results import events, here

__all__ = ["here"]


@pytest.fixture
def envelope(hansard: Hansard, delivered: str) -> dict[str, Any]:
    result: dict[str, Any] = hansard("attest", delivered).json
    return result


@pytest.fixture
def pem(hansard: Hansard, delivered: str) -> str:
    return hansard("attest", "--public-key").out


def statement(envelope: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return body


def test_the_statement_says_how_the_result_came_about(
    hansard: Hansard, here: Path, delivered: str, envelope: dict[str, Any]
) -> None:
    result = statement(envelope)
    assert result["_type"] == "https://in-toto.io/Statement/v1"
    branch = f"hansard/{delivered}"
    assert [subject["digest"] for subject in result["subject"]] == [{"gitCommit": git(here, "rev-parse", branch)}]
    text = result["predicate"]
    assert text["session"]["id"] == delivered and text["session"]["status"] == "success"
    assert text["base"] == {"branch": "main", "commit": {"gitCommit": git(here, "rev-parse", "main")}}
    assert text["branch"] == branch
    assert [file["path"] for file in text["files"]] == ["a.txt", "new/b.txt"]
    [turn] = text["turns"]
    history = events(hansard, delivered)
    assert history[turn["validatedBy"] - 1]["type"] == "delivery.tests_passed"
    assert history[turn["approvedBy"]["version"] - 1]["type"] == "delivery.review_approved"
    answered = next(event["data"] for event in history if event["data"].get("files"))
    patch: Any = answered["patch"]
    assert turn["patch"]["sha256"] == hashlib.sha256(patch["head"].encode()).hexdigest()
    proof = hansard("prove", delivered, str(text["record"]["version"])).json
    assert proof["event"]["version"] == len(history)


def test_securesystemslib_verifies_it(envelope: dict[str, Any], pem: str) -> None:
    key = SSlibKey.from_crypto(load_pem_public_key(pem.encode()))
    copy = json.loads(json.dumps(envelope))
    assert Envelope.from_dict(copy).verify([key], threshold=1).keys() == {key.keyid}
    forged = statement(envelope)
    forged["predicate"]["session"]["status"] = "failed"
    envelope["payload"] = base64.b64encode(json.dumps(forged).encode()).decode()
    with pytest.raises(VerificationError):
        Envelope.from_dict(envelope).verify([key], threshold=1)


def test_openssl_verifies_it_offline(envelope: dict[str, Any], pem: str, tmp_path: Path) -> None:
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    (tmp_path / "key.pem").write_text(pem)
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    for content, code in ((signed, 0), (signed + b" ", 1)):
        (tmp_path / "signed").write_bytes(content)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "signed"]
        done = subprocess.run([*command, "-sigfile", "sig"], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == code, done.stderr


def test_the_key_is_that_of_the_checkpoints(hansard: Hansard, pem: str) -> None:
    raw = load_pem_public_key(pem.encode()).public_bytes_raw()  # type: ignore[union-attr]
    assert hansard("checkpoint", "--public-key").out.strip() == base64.b64encode(raw).decode()


def test_session_without_result_cannot_be_attested(hansard: Hansard, here: Path) -> None:
    result = hansard("run", "-t", "Look", "-f", "a.txt", "--test", "true")
    name = result.err.partition("Session ")[2].split()[0].rstrip(".")
    for command in ("attest", "trace"):
        assert hansard(command, name).code == 4
        assert hansard(command, "nope").code == 3
    assert hansard("attest").code == 2


def test_the_trace_has_the_lines_of_the_result(hansard: Hansard, here: Path, delivered: str) -> None:
    result = hansard("trace", delivered).json
    assert result.keys() == {"version", "id", "timestamp", "vcs", "tool", "files", "metadata"}
    assert result["version"] == "0.1.0" and uuid.UUID(result["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", result["timestamp"])
    assert result["vcs"] == {"type": "git", "revision": git(here, "rev-parse", f"hansard/{delivered}")}
    assert [file["path"] for file in result["files"]] == ["a.txt", "new/b.txt"]
    [conversation] = result["files"][0]["conversations"]
    assert conversation["url"].startswith(f"hansard:{delivered}/{delivered}.t")
    assert conversation["contributor"]["type"] == "ai"
    digest = hashlib.sha256(b"THREE").hexdigest()
    assert conversation["ranges"] == [{"start_line": 3, "end_line": 3, "content_hash": f"sha256:{digest}"}]
    assert [each["type"] for each in conversation["related"]] == ["validation", "approval"]
    assert hansard("trace", delivered).json["id"] == result["id"]


ODD = r"""cat >/dev/null; printf 'a\n' >-notes.txt; printf 'b\n' >"$(printf 'a\n\033b.txt')"
printf 'c\n' >"$(printf '\377.txt')"; echo Written."""


@pytest.fixture
def oddly_named(hansard: Hansard, here: Path, tmp_path: Path) -> str:
    """The branch of a delivery whose files begin with a dash, have a line break, or bytes that are not UTF-8."""
    team, argv = tmp_path / "team.toml", json.dumps(["sh", "-c", ODD])
    team.write_text(
        f'[[agents]]\nname = "Odd"\nroles = ["dev"]\nadapter = "command"\nsettings.argv = {argv}\n'
        '[[agents]]\nname = "Ann"\nadapter = "scripted"\nroles = ["planner", "architect", "designer", "reviewer"]\n'
    )
    run = hansard("run", "-t", "Notes", "--test", "true", "--team", str(team))
    assert run.code == 0, run.err
    assert "\x1b" not in run.out
    return str(hansard("show", "latest", "--json").json["session"]["result"]["branch"])


def test_names_that_git_allows_are_printed_on_a_line_each(hansard: Hansard, oddly_named: str) -> None:
    names = [line.split("  ")[-1] for line in hansard("changes", "latest", "--stat").out.splitlines()]
    assert names == ["-notes.txt", "a⟦U+000A⟧⟦U+001B⟧b.txt", "\N{REPLACEMENT CHARACTER}.txt"]
    assert "a⟦U+000A⟧⟦U+001B⟧b.txt (" in hansard("show", "latest").out


def test_names_that_git_allows_do_not_spoil_the_trace(hansard: Hansard, here: Path, oddly_named: str) -> None:
    """A file that cannot be named is left out, and the rest is kept."""
    traced = hansard("trace", "latest")
    assert [file["path"] for file in traced.json["files"]] == ["-notes.txt", "a\n\x1bb.txt"]
    assert traced.err.startswith("Left out: \N{REPLACEMENT CHARACTER}.txt (")
    git(here, "merge", "--quiet", "--ff-only", oddly_named)
    [line] = hansard("blame", "--json", "--", "-notes.txt").json
    assert line["agent"] == "Odd"
