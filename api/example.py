"""The example: a small repository with a failing test, created on the spot, and a scripted team that fixes it.

The reviewer blocks the first attempt; the second succeeds. The validation is real: Python runs the repository's tests.
"""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from adapters.writer.writer import CommandEnvelope
from api.actions import start_commands
from api.actions.bodies import DeliveryStart
from api.node.owner import actor
from api.system import System

BROKEN = '''"""Prices in cents."""


def total(prices):
    """The sum of all prices."""
    result = 0
    for price in prices[1:]:
        result += price
    return result


def average(prices):
    """The mean price, rounded down."""
    return total(prices) // len(prices)
'''

HALF_FIXED = BROKEN.replace("prices[1:]", "prices")

FIXED = HALF_FIXED.replace(
    '    """The mean price, rounded down."""\n',
    '    """The mean price, rounded down; 0 when there are no prices."""\n    if not prices:\n        return 0\n',
)

TESTS = """import unittest

from shop import prices


class Prices(unittest.TestCase):
    def test_the_total_counts_every_price(self):
        self.assertEqual(prices.total([100, 250, 50]), 400)

    def test_the_average_is_rounded_down(self):
        self.assertEqual(prices.average([100, 101]), 100)


if __name__ == "__main__":
    unittest.main()
"""

TASK = "The total of a shopping basket is wrong: the first price is not counted. Fix it, and keep the average correct."

_BLOCKED = """The total is correct now, but one problem blocks the delivery.

```json
{"blockingIssues": [{"id": "empty-basket", "title": "average fails for an empty basket",
  "detail": "average([]) divides by zero; a basket may be empty.",
  "path": "shop/prices.py", "line": 13, "symbol": "average"}],
 "nonBlockingIssues": [{"id": "sum", "title": "sum() would do", "detail": "total could be sum(prices)."}],
 "score": 62, "fixPlan": ["Return 0 from average when there are no prices."]}
```"""

_APPROVED = """The empty basket is handled, the tests pass.

```json
{"blockingIssues": [], "nonBlockingIssues": [], "score": 95, "fixPlan": []}
```"""

_PLAN = """Count every price, then look at what depends on the total.

```json
{"goals": ["total() counts the first price", "average() stays correct"],
 "modules": ["shop/prices.py"], "checklist": ["fix the loop", "run the tests"]}
```"""


def scenario() -> dict[str, Any]:
    """The answers of the scripted team, and the files that the developer writes."""
    first, second = {"shop/prices.py": HALF_FIXED}, {"shop/prices.py": FIXED}
    usage = {"inputTokens": 1_200, "outputTokens": 300, "costMicros": 4_500}
    return {
        "delayMs": 150,
        "replies": {
            "planner": [{"text": _PLAN, "usage": usage}],
            "architect": [{"text": "One module, shop/prices.py; no new dependency.", "usage": usage}],
            "designer": [{"text": "Iterate over all prices; the signature stays as it is.", "usage": usage}],
            "dev": [
                {"text": "The loop skipped the first price; now it counts all prices.", "files": first, "usage": usage},
                {"text": "average() now returns 0 for an empty basket.", "files": second, "usage": usage},
            ],
            "reviewer": [{"text": _BLOCKED, "usage": usage}, {"text": _APPROVED, "usage": usage}],
        },
    }


def start_request(folder: Path) -> dict[str, Any]:
    """The body of the request that starts the example in a repository from `make_repository`."""
    return {
        "kind": "delivery",
        "title": "Example: the basket forgets its first price",
        "task": TASK,
        "filePaths": ["shop/prices.py", "tests/test_prices.py"],
        "validationCommands": [[sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."]],
        "baseline": False,
        "maxIterations": 4,
        "maxMinutes": 5,
        "labels": ["example"],
        "workspace": str(folder),
        "scenario": scenario(),
    }


async def make_repository(folder: Path) -> Path:
    """A git repository with a failing test, in a new folder. Raises FileExistsError, CalledProcessError."""
    return await asyncio.to_thread(_make, folder)


def _make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    files = {"shop/__init__.py": "", "shop/prices.py": BROKEN, "tests/__init__.py": "", "tests/test_prices.py": TESTS}
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    identity = ("-c", "user.name=Hansard", "-c", "user.email=hansard@localhost", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "A small shop")):
        subprocess.run(("git", *arguments), cwd=folder, check=True, capture_output=True, timeout=30)
    return folder


async def run_example(inside: System) -> str:
    """Start the example in its own repository. Returns the id of its session."""
    session_id = start_commands.new_id("delivery")
    folder = await make_repository(inside.settings.node_dir / "examples" / session_id / "shop")
    body = DeliveryStart.model_validate(start_request(folder))
    command = start_commands.delivery(body, inside.team, inside.settings)
    order = CommandEnvelope(session_id=session_id, command=command, actor=actor(), command_id=session_id, starts=True)
    await inside.writer.do(order)
    return session_id
