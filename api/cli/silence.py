"""Nobody waits in silence: what a session waits for, and who could do it."""

from typing import TYPE_CHECKING

from api.cli.client import Api
from api.cli.labels import sentence
from api.cli.stall import others_have
from api.cli.terminal import say
from api.cli.waits import below, doing, say_no_worker

if TYPE_CHECKING:
    from api.cli.answers import Session
    from api.system import System


def agents_of(session: "Session") -> tuple[str, ...]:
    """The agents that the session's open turns wait for, each once; commands are run by any worker."""
    turns = [turn for turn in session.get("outstandingTurns") or () if turn["work"] == "ask"]
    return tuple(dict.fromkeys(str(turn["agent"]) for turn in turns if not turn.get("external")))


async def say_wait(api: Api, session: "Session", *, within: "Session | None" = None) -> None:
    """Say what the session waits for, and who could do it; of a review or debate `within` another session, too. Raises
    StoreError."""
    turns = [turn for turn in session.get("outstandingTurns") or () if turn["work"] != "wait"]
    if not turns:
        for name in below(session):
            await say_wait(api, (await api.session(name))["session"], within=session)
        return
    say(sentence("Waits for {turns}.", turns=", ".join(doing(turn) for turn in turns)))
    if api.system is not None:
        await _say_who(api.system, agents_of(session), str((within or session)["id"]))


async def _say_who(system: "System", agents: tuple[str, ...], session_id: str) -> None:
    """Say whether a process that has these agents works on the session."""
    if system.works:
        say(sentence("This process works on it."))
    elif await others_have(system.settings, agents):
        say(sentence("Another worker on this log works on it."))
    elif await others_have(system.settings):
        advice = "The workers on this log have another team. To run it here: `hansard resume {session_id}`."
        say(sentence(advice, session_id=session_id))
    else:
        say_no_worker(session_id)
