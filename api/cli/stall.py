"""Says at once what a followed session waits for, when nothing moves."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.terminal import one_line, say

if TYPE_CHECKING:
    from api.cli.answers import Session, TurnView
    from api.node.settings import Settings
    from api.system import System


_LOOK_SECONDS: Final = 1.0

FAILING: Final = 60

ABSENT: Final = 5
"""So many looks, each a second after the one before, in which nothing moved."""


class StallWatch:
    """For one command, and the system in this process. With a server no limit is needed: the server continues."""

    def __init__(self, system: "System | None", now: Callable[[], float] = monotonic) -> None:
        self._system, self._now = system, now
        self._looked = -inf
        self._failed = self._alone = 0
        self._why = ""
        self._said: set[str] = set()

    async def check(self, sessions: "Sequence[Session]", *, moved: bool) -> None:
        """Look at what all of these wait for, once a second. Raises Failed when it is over."""
        if moved:
            self._failed = self._alone = 0
            return
        if self._system is None or self._now() - self._looked < _LOOK_SECONDS:
            return
        self._looked = self._now()
        if self._system.works:
            await self._try_the_log(str(sessions[0]["id"]))
        await self._look_for_agents(sessions)

    async def _try_the_log(self, session_id: str) -> None:
        """A failure counts though a small write that is tried now succeeds: there may be no room for more."""
        assert self._system is not None, "only what is worked on here"
        store, trouble = self._system.store, self._system.follower.failing
        if not store.failing and trouble is None:
            return
        self._failed += 1
        failure: str | None = await asyncio.to_thread(store.failure)
        self._why = failure or trouble or self._why
        if self._failed < FAILING:
            return
        raise Failed(
            sentence("Could not write to the log for a minute. {why}", why=self._why).rstrip(),
            sentence(
                "The record is safe. Once that is fixed, `hansard worker` (or `serve`) continues {session_id}.",
                session_id=session_id,
            ),
        )

    async def _look_for_agents(self, sessions: "Sequence[Session]") -> None:
        assert self._system is not None, "only what is worked on here"
        turns = [turn for session in sessions for turn in session.get("outstandingTurns") or ()]
        agents = [turn for turn in turns if turn["work"] != "wait"]
        if not self._system.works:
            return await self._look_for_workers(str(sessions[0]["id"]), agents)
        if not agents or not all(turn.get("elsewhere") or turn.get("external") for turn in agents):
            self._alone = 0
            return
        external = [turn for turn in agents if turn.get("external")]
        if external:
            return self._say(
                sentence(
                    "Waiting for {agents}: its worker claims the turn from `hansard serve` on this log.",
                    agents=_names(external),
                )
            )
        names = {str(turn["agent"]) for turn in agents if turn["work"] == "ask"}
        if await others_have(self._system.settings, names):
            elsewhere = "Waiting for {agents}, not in this team; other workers are running on this log."
            return self._say(sentence(elsewhere, agents=_names(agents)))
        self._alone += 1
        if self._alone < ABSENT:
            return
        session_id = sessions[0]["id"]
        raise Failed(
            sentence(
                "{session_id} is waiting for {agents}, not in this team; no other worker on this log has it.",
                session_id=session_id,
                agents=_names(agents),
            ),
            sentence("Add an agent for it to the team file, then run `hansard worker --team FILE`."),
            sentence("To cancel it: `hansard cancel {session_id}`.", session_id=session_id),
        )

    async def _look_for_workers(self, session_id: str, turns: "Sequence[TurnView]") -> None:
        """Say, where this process only watches, that no other one has the agents that are asked now."""
        assert self._system is not None, "only what is worked on here"
        questions = [turn for turn in turns if turn["work"] == "ask" and not turn.get("external")]
        names = {str(turn["agent"]) for turn in questions}
        if not names or await others_have(self._system.settings, names):
            self._alone = 0
            return
        self._alone += 1
        if self._alone == ABSENT:
            nobody = "No worker on this log has {agents}. To run it here: `hansard resume {session_id}`."
            self._say(sentence(nobody, agents=_names(questions), session_id=session_id))

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            say(sentence)
            self._said.add(sentence)


async def others_have(settings: "Settings", agents: Collection[str] = ()) -> bool:
    """True if another process on this log works on turns, with all of these agents. Raises StoreError."""
    from api.node import workers  # the store, once nothing else happens

    return await asyncio.to_thread(workers.others_have, settings, agents)


def _names(turns: "Sequence[TurnView]") -> str:
    """`planner, Ada (reviewer)`"""
    named = ((str(turn["agent"]), str(turn["role"])) for turn in turns)
    spelt = (agent if agent == role else f"{agent} ({role})" for agent, role in named)
    return ", ".join(one_line(name) for name in dict.fromkeys(spelt))
