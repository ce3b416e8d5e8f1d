"""An agent that speaks as Codex's app server does, for tests: `codex_program.py ORDERS` takes its steps from a file."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ORDERS: Json = json.loads(Path(sys.argv[1]).read_text())
if "child" in ORDERS:  # before anything that takes time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(ORDERS["child"]).write_text(f"{os.getpid()} {child.pid}\n")

SEEN = Path(sys.argv[1]).with_name("seen.jsonl")
"""What the client asked and answered, a line each."""
KEPT = Path(os.environ["HOME"], "threads.json")
THREAD, TURN = "01a20a85-0000", "turn-2"


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def note(what: str, value: Any) -> None:
    with SEEN.open("a") as file:
        file.write(json.dumps({what: value}) + "\n")


def tell(method: str, **params: Any) -> None:
    say(method=method, params={"threadId": THREAD, "turnId": TURN, **params}, emittedAtMs=1)


def heard() -> Json:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: Json = json.loads(line)
    if "method" in message:
        note(message["method"], message.get("params"))
    return message


def ask(number: int, method: str, params: Json) -> None:
    say(id=f"q{number}", method=method, params={"threadId": THREAD, "turnId": TURN, **params})
    note("answer", heard().get("result"))


def opened(method: str, params: Json) -> Json | None:
    """The thread; None if it is not known."""
    known = json.loads(KEPT.read_text()) if KEPT.exists() else []
    if method == "thread/resume" and params["threadId"] not in known:
        return None
    KEPT.write_text(json.dumps([THREAD]))
    return {"thread": {"id": THREAD}, "model": "gpt-5-codex"}


def used(read: int, said: int, turn: str = TURN) -> Json:
    last = {"inputTokens": read, "cachedInputTokens": read // 2, "outputTokens": said, "reasoningOutputTokens": 1}
    return {"turnId": turn, "tokenUsage": {"last": last, "total": {**last, "inputTokens": 999_999}}}


def take(steps: list[Json]) -> None:
    """A turn."""
    tell("thread/tokenUsage/updated", **used(5_000, 500, "turn-1"))  # as it does after resuming
    tell("turn/started", turn={"id": TURN, "status": "inProgress"})
    end: Json = {"status": "completed", "error": None}
    for number, step in enumerate(steps):
        [(what, value)] = step.items()
        match what:
            case "say":
                item = {"type": "agentMessage", "id": f"m{number}", "text": value}
                tell("item/started", item={**item, "text": ""})
                tell("item/completed", item=item)
            case "tell":
                tell(value[0], **value[1])
            case "used":
                tell("thread/tokenUsage/updated", **used(*value))
            case "ask":
                ask(number, *value)
            case "fail":
                end = {"status": "failed", "error": value}
            case "hang":
                time.sleep(value)
            case "exit":
                sys.stderr.write("Error: the configuration is wrong\n")
                sys.exit(value)
    tell("turn/completed", turn={"id": TURN, **end})


def main() -> None:
    while True:
        message = heard()
        method, name = message.get("method", ""), message.get("id")
        if name is None:
            continue
        error = ORDERS.get("errors", {}).get(method)
        result: Json | None = {}
        if method.startswith("thread/"):
            result = opened(method, message["params"])
            error = error or (None if result else "no rollout was kept for it")
        if error:
            say(id=name, error={"code": -32600, "message": error})
            continue
        say(id=name, result=result)
        if method == "turn/start":
            take(ORDERS.get("steps", [{"say": "ok"}]))


main()
