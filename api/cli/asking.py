"""The question to the person at the terminal: what is decided upon stands above it, and Enter leaves it open."""

import asyncio
import os
import sys
from typing import Final, NamedTuple

from api.cli.client import Api, Json, path_of
from api.cli.exits import REFUSED, Failed
from api.cli.terminal import paint, say

LABELS: Final = {"apply_fix": "Apply fix", "skip": "Skip", "revise": "Revise the plan", "accept": "Accept as it is"}
_ANSWER: Final = 4_096
"""Bytes of a line that a terminal hands over at once."""


class Answer(NamedTuple):
    choice: str
    rationale: str


def somebody_is_there() -> bool:
    """Whether a person sees what is printed and can answer: in a pipe nobody is asked."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


async def decide(api: Api, session: Json) -> bool:
    """Ask for the decision of this review or debate and record it; False: it was left open.

    Bound to the version that the person saw: when somebody else was faster, that is said, and counts as decided.
    """
    answer = await _ask([str(choice) for choice in session["choices"]])
    if answer is None:
        return False
    body = {"decision": answer.choice, "rationale": answer.rationale}
    try:
        await api.post(f"{path_of(str(session['id']))}/decision", body, version=int(session["version"]))
    except Failed as error:
        if error.code != REFUSED:
            raise
        say("\n".join(error.sentences))
    else:
        say(f"Decided: {LABELS.get(answer.choice, answer.choice)}.")
    return True


def understood(line: str, choices: list[str]) -> Answer | None:
    """`a`, `apply` or `apply_fix`, and behind it why; None for what is no choice, or the beginning of several."""
    word, _, rationale = line.strip().partition(" ")
    meant = [choice for choice in choices if word and choice.startswith(word.casefold().replace("-", "_"))]
    return Answer(meant[0], rationale.strip()) if len(meant) == 1 else None


async def _ask(choices: list[str]) -> Answer | None:
    offered = "   ".join(f"{paint(f'[{name[0]}]', 'bold', sys.stderr)} {LABELS.get(name, name)}" for name in choices)
    while True:
        sys.stderr.write(f"\n{offered}   Enter: leave it waiting   (a reason may follow the letter) ")
        sys.stderr.flush()
        line = await _line()
        if not line.strip():
            return None
        answer = understood(line, choices)
        if answer is not None:
            return answer
        say(f"That is none of {', '.join(choices)}.")


async def _line() -> str:
    """A line of the terminal, empty at its end. Agents go on meanwhile, and Ctrl-C interrupts it."""
    loop = asyncio.get_running_loop()
    ready, descriptor = asyncio.Event(), sys.stdin.fileno()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _ANSWER).decode(errors="replace")
