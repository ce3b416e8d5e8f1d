"""One step over a large log in a process of its own: `python -m tests.benchmarks.large_log_step LOG STEP` prints its
events per second of one core, and the most memory in megabytes."""

import gc
import json
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from adapters.proof.verify import verify, verify_stored
from adapters.store.sqlite.sealed_log import Sealed, sealed
from adapters.store.sqlite.views import SqliteViews
from api.cli import ALLOCATIONS
from projections.follow import Follower

STEPS: Final = ("stored", "verify", "rebuild")


def carry_out(step: str, log: Sealed, views: Path) -> None:
    """Verify the stored bytes, verify everything, or rebuild the views; AssertionError for a fault."""
    match step:
        case "stored":
            assert verify_stored(log).faults == []
        case "verify":
            assert verify(log).faults == []
        case _:
            with closing(SqliteViews(views)) as kept:
                follower = Follower(log, kept)
                follower.rebuild()
                assert follower.problems() == []


if __name__ == "__main__":
    gc.set_threshold(ALLOCATIONS)
    place = Path(sys.argv[1])
    with sealed(place) as log:
        began = time.process_time()
        carry_out(sys.argv[2], log, place.with_name("views.db"))
        rate = log.head() / (time.process_time() - began)
    status = Path("/proc/self/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in status if "VmHWM" in line]  # `ru_maxrss` counts the parent of the fork, too
    sys.stdout.write(json.dumps({"rate": rate, "megabytes": int(peak) / 1024}))
