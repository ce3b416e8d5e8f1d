"""What the fence costs a command, compared with the same command without one (`-m benchmark`)."""

import asyncio
import statistics
import time
from pathlib import Path

import pytest

from adapters.fence.bubblewrap import Bubblewrap, bubblewrap_works
from adapters.fence.network.allow_list import Allowed
from adapters.fence.port import Fence, Grant, Unfenced
from adapters.processes.environment import clean_environment
from adapters.processes.limits import SystemLimits
from adapters.processes.program import run
from domain.values.network import entries
from tests.benchmarks.measuring import Tell

pytestmark = [pytest.mark.benchmark, pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap does not work here")]

TIMES = 60
LIMITS = SystemLimits(file_bytes=17_179_869_184)
"""As validation commands have them by default."""


async def _once(fence: Fence, folder: Path, limits: SystemLimits) -> float:
    began = time.perf_counter()
    environment = clean_environment(home=folder)
    done = await run(["true"], cwd=folder, env=environment, wall_seconds=10, limits=limits, fence=fence)
    assert done.exit_code == 0, done
    return (time.perf_counter() - began) * 1000


@pytest.mark.parametrize(("who", "limits"), [("validation", LIMITS), ("agent", SystemLimits())])
def test_the_fence_costs_a_command_little(who: str, limits: SystemLimits, tmp_path: Path, tell: Tell) -> None:
    grant = Grant(writable=(tmp_path,), hidden=(tmp_path / "node",), network="none" if who == "validation" else "all")

    async def scene() -> tuple[list[float], list[float]]:
        bare, fenced = list[float](), list[float]()
        for _ in range(TIMES):  # by turns, so that the machine's moods are those of both
            bare.append(await _once(Unfenced(grant), tmp_path, limits))
            fenced.append(await _once(Bubblewrap(grant), tmp_path, limits))
        return bare, fenced

    bare, fenced = asyncio.run(scene())
    cost = statistics.median(fenced) - statistics.median(bare)
    quickest = min(fenced) - min(bare)
    tell(f"fence: {cost:.1f} ms a command of {who} (quickest {quickest:.1f}), {statistics.median(bare):.1f} ms without")
    assert quickest <= 15


def test_a_list_of_hosts_costs_a_turn_little(tmp_path: Path, tell: Tell) -> None:
    """The program's own network, its proxy, and what hands the way out to it."""

    async def scene() -> tuple[list[float], list[float]]:
        every, listed = list[float](), list[float]()
        for _ in range(TIMES):
            none = Grant(writable=(tmp_path,), network="none")
            every.append(await _once(Bubblewrap(none), tmp_path, SystemLimits()))
            await asyncio.sleep(0.1)  # as between turns: the next network is made meanwhile
            some = Grant(writable=(tmp_path,), network=Allowed(entries(["pypi"])))
            listed.append(await _once(Bubblewrap(some), tmp_path, SystemLimits()))
        return every, listed

    every, listed = asyncio.run(scene())
    cost = statistics.median(one - other for one, other in zip(listed, every, strict=True))
    quickest = min(listed) - min(every)
    tell(f"list of hosts: {cost:.1f} ms a turn (quickest {quickest:.1f})")
    assert quickest <= 15
