"""`hansard mcp` answers each line that it cannot read, and goes on with the next one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.api.server import ROOT

pytest.importorskip("mcp")

CALL = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"start_review","arguments":{"subject":%s}}}'
HELLO: Any = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
UNREADABLE: list[tuple[bytes, int, object]] = [
    (CALL.encode() % rb'"a\ud800b"', -32600, 3),
    (CALL.encode() % b'"\xff\xfe"', -32600, 3),
    (CALL.encode() % (b"[" * 100 + b"]" * 100), -32600, 3),
    (CALL.encode() % b'"a","subject":"b"', -32600, 3),
    (b"[" * 3_000 + b"]" * 3_000, -32700, None),
    (b"\xef\xbb\xbf" + json.dumps(HELLO).encode(), -32600, 0),
    (b'{"jsonrpc":"2.0","id":4,"method":"ping"', -32700, None),
    (b"Buy milk.", -32700, None),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
    (b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]', -32600, None),
    (b'{"jsonrpc":"1.0","id":6,"method":"ping"}', -32600, 6),
    (b'{"jsonrpc":"2.0","id":"seven","method":7}', -32600, "seven"),
    (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', -32600, 8),
    (b'"text"', -32600, None),
    (b"17", -32600, None),
]


def spoken(folder: Path, lines: list[bytes], count: int) -> list[dict[str, Any]]:
    """The answers of a `hansard mcp` of its own, that many of them."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
    ours |= {"HANSARD_DATABASE": f"sqlite:///{folder}/hansard.db", "HANSARD_DATA_DIR": str(folder / "node")}
    with subprocess.Popen(
        [sys.executable, "-m", "api", "mcp"], cwd=ROOT, env=ours, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(count)]
        process.stdin.close()
        assert process.wait(60) == 0
    return answers


def test_every_unreadable_line_is_answered_and_the_next_one_is_served(tmp_path: Path) -> None:
    ping = b'{"jsonrpc":"2.0","id":"last","method":"ping"}'
    started = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    lines = [json.dumps(HELLO).encode(), started, *(line for line, _, _ in UNREADABLE), b"", ping]
    answers = spoken(tmp_path, lines, len(UNREADABLE) + 2)
    errors = [(each["error"]["code"], each["id"]) for each in answers if "error" in each]
    assert errors == [(code, identity) for _, code, identity in UNREADABLE]
    assert all(each["error"]["message"] for each in answers if "error" in each)
    assert {each["id"] for each in answers if "result" in each} == {0, "last"}
