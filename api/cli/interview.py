"""Asking the person at the terminal: for decisions, and for what agents want to do."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from api.cli.client import Api, Body, path_of
from api.cli.exits import REFUSED, Failed
from api.cli.labels import recorded, sentence
from api.cli.options import Fields
from api.cli.terminal import paint, say
from api.cli.votes import votes_missing

if TYPE_CHECKING:
    from api.cli.answers import PermissionRequestView, ScopeRequestView, Session

LABELS: Final = {
    "apply_fix": "Apply fix",
    "skip": "Skip",
    "revise": "Revise plan",
    "accept": "Accept as is",
    "allow": "Allow",
    "deny": "Deny",
    "remember": "Allow for the whole session",
}
_ANSWER: Final = 4_096
"""Bytes of a line that a terminal hands over at once."""


class TypedAnswer(NamedTuple):
    choice: str
    rationale: str


def is_interactive() -> bool:
    """True if a person sees the output and can answer; in a pipe there are no questions."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


async def decide(api: Api, session: "Session") -> bool:
    """Ask for the decision of this review or debate and record it; False: it was left open.

    Bound to the version that the person saw: if someone else was faster, this says so and counts as decided.
    """
    answer = await _ask(
        [str(choice) for choice in session["choices"]], hint=f"{sentence('(add a reason after the letter)')}  "
    )
    if answer is None:
        return False
    body: Fields = {"decision": answer.choice, "rationale": answer.rationale}
    body |= {"seen": session["seen"]} if session.get("approval") else {}
    version = int(session["version"])
    if await _taken(api, str(session["id"]), "decision", body, version=version):
        if await votes_missing(api, str(session["id"]), answer.choice):
            return False
        say(sentence("Decided: {choice}.", choice=_named(answer.choice)))
    return True


def parse_answer(line: str, choices: list[str]) -> TypedAnswer | None:
    """`a`, `apply` or `apply_fix`, then the reason; None if it is not a choice, or ambiguous."""
    word, _, rationale = line.strip().partition(" ")
    meant = [choice for choice in choices if word and choice.startswith(word.casefold().replace("-", "_"))]
    return TypedAnswer(meant[0], rationale.strip()) if len(meant) == 1 else None


async def allowed(api: Api, session_id: str, request: "ScopeRequestView") -> bool:
    """Ask whether changes outside the scope may stay, and record the answer; False: it was left open."""
    say("\n".join([sentence("Files outside the scope were changed:"), *(f"  {path}" for path in request["paths"])]))
    answer = await _ask(["allow", "deny"])
    if answer is None:
        return False
    body = {"requestId": request["requestId"], "decision": answer.choice}
    await _taken(api, session_id, "scope", body)
    return True


async def permitted(api: Api, session_id: str, request: "PermissionRequestView") -> bool:
    """Ask whether an agent may use a tool, and record the answer; False: it was left open."""
    asks = sentence("{agent} asks for permission ({tool}):", agent=request["agent"], tool=request["tool"])
    lines = [asks, f"  {request['title']}"]
    say("\n".join([*lines, *(f"  {path}" for path in request["paths"])]))
    answer = await _ask(["allow", "deny", "remember"])
    if answer is None:
        return False
    decision = "deny" if answer.choice == "deny" else "allow"
    body = {"requestId": request["requestId"], "decision": decision, "remember": answer.choice == "remember"}
    await _taken(api, session_id, "permission", body)
    return True


async def _taken(api: Api, session_id: str, command: str, body: Body, *, version: int | None = None) -> bool:
    """Send the answer; False, with a message, if someone else was faster."""
    try:
        await api.post(f"{path_of(session_id)}/{command}", body, version=version)
    except Failed as error:
        if error.code != REFUSED:
            raise
        say("\n".join(error.sentences))
        return False
    return True


def _named(choice: str) -> str:
    """A choice in the terminal's language."""
    name = recorded("choice", choice)
    return LABELS.get(choice, choice) if name == choice else name


async def _ask(choices: list[str], *, hint: str = "") -> TypedAnswer | None:
    offered = "   ".join(f"{paint(f'[{name[0]}]', 'bold', sys.stderr)} {_named(name)}" for name in choices)
    while True:
        later = sentence("Enter: decide later")
        sys.stderr.write(f"\n{offered}   {later}   {hint}")
        sys.stderr.flush()
        line = await _line()
        if not line.strip():
            return None
        answer = parse_answer(line, choices)
        if answer is not None:
            return answer
        say(sentence("Not one of {choices}.", choices=", ".join(choices)))


async def _line() -> str:
    """A line of the terminal, empty at its end. Agents continue meanwhile; Ctrl-C interrupts it."""
    loop = asyncio.get_running_loop()
    ready, descriptor = asyncio.Event(), sys.stdin.fileno()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _ANSWER).decode(errors="replace")
