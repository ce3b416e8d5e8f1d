"""Where the lines of a turn come from: what demanded them, which validation ran on them, who approved them."""

from dataclasses import dataclass
from typing import Final

from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext
from api.web.session.stored import event_of
from api.web.session.turns import TurnCard
from domain.delivery.events import ValidationFailed
from domain.orchestration.state import Orchestration

FAILED: Final = "delivery.validation_failed"
PASSED: Final = "delivery.tests_passed"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something that an event said; `who` where somebody said it."""

    version: int
    words: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """A turn that changed files. `passed` says whether the first validation after it did."""

    id: str
    number: int
    agent: str
    model: str
    place: int
    demanded: Evidence | None
    validated: Evidence | None
    passed: bool
    approved: Evidence | None


class Origins:
    """Reads what a session's history says around its turns, as of one version."""

    def __init__(self, context: PanelContext) -> None:
        self._context = context
        entries = [entry for entry in context.record.entries[: context.version] if entry.topic in (FAILED, PASSED)]
        self._validations = [(entry.version, entry.topic == PASSED) for entry in entries]

    def of(self, turn: TurnCard) -> LineOrigin:
        ended = turn.attempt.version if turn.attempt else turn.entry.version
        validated, passed = self._validated(ended)
        return LineOrigin(
            id=turn.id,
            number=turn.number,
            agent=cut(turn.entry.agent, 60),
            model=cut((turn.attempt and turn.attempt.model) or "", 80),
            place=turn.entry.number,
            demanded=self._demanded(turn),
            validated=validated,
            passed=passed,
            approved=self._approved(turn, ended),
        )

    def failing(self) -> tuple[str, ...]:
        """Why the last validation failed; nothing where it passed."""
        last = self._validations[-1:]
        return self._reasons(last[0][0]) if last and not last[0][1] else ()

    def _reasons(self, version: int) -> tuple[str, ...]:
        event = event_of(self._context, version)
        assert isinstance(event, ValidationFailed), "entries say what an event is"
        return event.reasons or (event.summary,)

    def _demanded(self, turn: TurnCard) -> Evidence | None:
        """The last finding before the turn was requested."""
        before = turn.entry.version
        blocked = [mark for mark in self._context.trail.outcomes if not mark.approved and mark.version < before]
        failed = [version for version, passed in self._validations if not passed and version < before]
        evidence = [
            Evidence(mark.version, cut(mark.issues[0][0], SENTENCE) if mark.issues else "") for mark in blocked[-1:]
        ]
        evidence += [Evidence(version, cut(self._reasons(version)[0], SENTENCE)) for version in failed[-1:]]
        evidence += [mark for mark in self._verdicts(turn, passed=False) if mark.version < before][-1:]
        return max(evidence, key=lambda each: each.version, default=None)

    def _validated(self, ended: int) -> tuple[Evidence | None, bool]:
        """The first validation after it that passed, as `hansard blame` names it; else the first that ran."""
        after = [(version, passed) for version, passed in self._validations if version > ended]
        if not after:
            return None, False
        version, passed = next((each for each in after if each[1]), after[0])
        return Evidence(version, "" if passed else cut(self._reasons(version)[0], SENTENCE)), passed

    def _approved(self, turn: TurnCard, ended: int) -> Evidence | None:
        marks = self._context.past(self._context.trail.outcomes)
        evidence = [Evidence(mark.version, who=self._by(mark.version)) for mark in marks if mark.approved]
        evidence += self._verdicts(turn, passed=True)
        return min((each for each in evidence if each.version > ended), key=lambda each: each.version, default=None)

    def _by(self, version: int) -> str:
        return cut(self._context.record.entries[version - 1].role, 60)

    def _verdicts(self, turn: TurnCard, *, passed: bool) -> list[Evidence]:
        """What the judge, or a person, said of the agent's work."""
        session = self._context.session
        if not isinstance(session, Orchestration):
            return []
        places = [place for place, agent in enumerate(session.agents) if agent.agent == turn.entry.agent]
        marks = self._context.past(self._context.trail.verdicts)
        of = [mark for mark in marks if mark.place in places and mark.passed == passed and mark.by != "nobody"]
        return [Evidence(mark.version, cut(mark.feedback, SENTENCE), mark.by) for mark in of]
