"""After a failed run in CI: repeat what failed, once and alone.

A test that passes then depends on luck: it is printed as FLAKY, and more than two of them fail the run. So does every
test that fails again.
"""

import json
import subprocess
import sys
from pathlib import Path

ALLOWED = 2
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if not failed:
        print("The run failed, but no test did: see the output above.")
        return 1
    again = [test for test in failed if not _passes(test)]
    flaky = [test for test in failed if test not in again]
    for test in flaky:
        print(f"FLAKY: {test}")
    for test in again:
        print(f"FAILED twice: {test}")
    return int(bool(again) or len(flaky) > ALLOWED)


def _passes(test: str) -> bool:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "", test]).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
