"""Refusals of actions that have more to say than a sentence."""

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

from domain.values.base import Refused
from domain.values.json import Malformed
from domain.values.sentences import Sentence, at_place


class EmptyMessage(Malformed):
    """A message to the team without words."""

    def __init__(self) -> None:
        super().__init__(Sentence("message_empty"))


class NotStarted(Refused):
    """Those who would do the work are not there now: the same request may be accepted next time."""


class NoTeam(NotStarted):
    """There is no team for the work."""

    def __init__(self, programs: Sequence[str], *, untrusted: Path | None = None, unfit: str | None = None) -> None:
        """`programs`: the agent programs that are installed here; `untrusted`: the repository's own team file, if it
        is not trusted as it is now; `unfit`: why that file cannot be used at all."""
        if unfit is not None:
            why = unfit
        elif untrusted is not None:
            why = Sentence("team_not_trusted", path=str(untrusted))
        else:
            why = Sentence("programs_installed", names=list(programs)) if programs else Sentence("no_program")
        super().__init__(Sentence("no_team", why=why))


class AgentNotReady(NotStarted):
    """Agents that are certain to be asked are known to fail."""

    def __init__(self, agents: Mapping[str, Sentence]) -> None:
        """`agents`: what each of them lacks, by its name."""
        first, *others = (at_place(name, lack) for name, lack in agents.items())
        problems = reduce(lambda one, other: Sentence("several_problems", first=one, second=other), others, first)
        super().__init__(Sentence("agent_not_ready", problems=problems))
        self.agents = dict(agents)
