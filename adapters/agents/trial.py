"""Asks an agent one tiny question, to see whether it works."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from adapters.agents.acp.settings import AcpSettings
from adapters.agents.command.settings import CommandSettings
from adapters.agents.port import Limits, Reply, Turn
from adapters.agents.presets.catalogue import preset
from adapters.agents.prompts.conversation import Exchange
from adapters.agents.team import Member, build
from adapters.fence.choice import Sandbox, choose
from adapters.fence.port import Grant
from adapters.processes.environment import clean_environment
from adapters.processes.program import run
from domain.session.attempts import Failure
from domain.values.base import Usage, Value, absent
from domain.values.sentences import Sentence

QUESTION = "This is a test of the connection. Do not use any tool. Answer with the single word READY."
AGAIN = "Do not use any tool. Answer with the same word again."
LIMITS = Limits(wall_seconds=120.0, idle_seconds=60.0)
_VERSION_SECONDS = 15.0


class Trial(Value):
    """The answer of an agent that was tried. `resumed` says whether a second question continued the same
    conversation."""

    name: str
    preset: str | None = None
    program: str | None = None
    version: str | None = None
    ok: bool
    answer: str | None = None
    usage: Usage = Usage()
    resumed: bool | None = None
    problem: str | None = None
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`problem` as data")


async def attempt(member: Member, sandbox: Sandbox) -> Trial:
    """Ask the agent in a separate folder, in a read-only role, and delete the conversation."""
    program = member.settings.argv[0] if isinstance(member.settings, CommandSettings | AcpSettings) else None
    about = {"name": member.name, "preset": member.preset, "program": program}
    if member.adapter == "external":
        return Trial(ok=True, **_why(Sentence("agent_is_external")), **about)
    if program is not None and shutil.which(program) is None:
        base = preset(member.preset or "")
        missing = (
            Sentence("program_not_on_path_install", program=program, command=base.install)
            if base
            else Sentence("program_not_on_path", program=program)
        )
        return Trial(ok=False, **_why(missing), **about)
    version = await version_of(program) if program else None
    with tempfile.TemporaryDirectory(prefix="hansard-try-") as folder:
        first, second = await _ask(member, Path(folder), sandbox)
    return Trial(
        ok=first.failure is None,
        version=version,
        answer=first.text.strip()[:200] or None,
        usage=first.usage,
        resumed=second.resumed if second and second.failure is None else None,
        **_why(_problem(first.failure) if first.failure else None),
        **about,
    )


def _why(problem: Sentence | None) -> dict[str, Any]:
    return {"problem": None if problem is None else str(problem), "sentence": problem}


def _problem(failure: Failure) -> Sentence:
    """Tells why it did not answer: the code of the failure, and its reason."""
    text = f"{failure.code}: {failure.detail}"
    return Sentence.foreign(text, "failure_because", failure=Sentence(f"failure_{failure.code}"), detail=failure.why)


async def _ask(member: Member, folder: Path, sandbox: Sandbox) -> tuple[Reply, Reply | None]:
    workspace = folder / "workspace"
    workspace.mkdir()
    agent = build(member, folder)
    turn = Turn(
        turn_id="try.t1",
        session_id="try",
        attempt=1,
        agent=member.name,
        role=member.roles[0],
        prompt=QUESTION,
        workspace=workspace,
        access="read",
        limits=LIMITS,
        reads="text",
        grant=Grant(writable=(workspace,)),
        fence=choose(sandbox),
    )
    first = await agent.ask(turn)
    if first.failure is not None or first.agent_session is None:
        return first, None
    earlier = (Exchange(QUESTION, first.text, turn.turn_id),)
    again = replace(turn, turn_id="try.t2", prompt=AGAIN, agent_session=first.agent_session, exchanges=lambda: earlier)
    second = await agent.ask(again)
    await agent.forget(first.agent_session)
    return first, second


async def version_of(program: str) -> str | None:
    """The version that the program reports; None if that is unusable."""
    with tempfile.TemporaryDirectory(prefix="hansard-try-") as folder:
        home = Path(folder)
        finished = await run(
            [program, "--version"],
            cwd=home,
            env=clean_environment(home=home),
            wall_seconds=_VERSION_SECONDS,
            output_bytes=10_000,
        )
    lines = [line.strip() for line in finished.stdout.splitlines() if any(letter.isdigit() for letter in line)]
    return lines[-1][:100] if finished.exit_code == 0 and lines else None
