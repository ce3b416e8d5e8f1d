"""Looks and changes, for the many findings that they do not name: noted once for all of them, and read for a
finding when it is asked for."""

from collections.abc import Set
from dataclasses import dataclass, field
from typing import NamedTuple

from domain.findings.finding import FactAt, FindingState, LedgerFinding, LifeEvent


class _ChangeStep(NamedTuple):
    """A change: who hands work back says that it is done; a patch that touches neither line nor file says nothing."""

    touched: Set[str]
    claimed: LifeEvent
    worked_on: FactAt
    unchanged: LifeEvent
    untouched: FactAt


class _LookStep(NamedTuple):
    """A look at all of the work that does not repeat a finding, which closes nothing by itself."""

    not_repeated: LifeEvent


class _Lapse(NamedTuple):
    """A finding's new state and life; `why` is None if its state is what it was."""

    state: FindingState
    why: FactAt | None
    attempts: int
    life: tuple[LifeEvent, ...]


class _Situation(NamedTuple):
    """Everything that decides what steps mean for a finding that is not fixed."""

    steps: int
    path: str
    blocking: bool
    state: FindingState
    just_claimed: bool


@dataclass
class Meanwhile:
    """The steps so far, in their order."""

    _steps: list[_ChangeStep | _LookStep] = field(default_factory=list)
    _lapses: dict[_Situation, _Lapse] = field(default_factory=dict)
    """What was read since the last step: most findings share it with others."""

    def change(self, version: int, *, by: str, turn: str, touched: Set[str]) -> None:
        """Every open finding that blocks was to be fixed."""
        claimed, unchanged = (LifeEvent(version, act, by, turn=turn) for act in ("claimed", "unchanged"))
        facts = FactAt("worked_on", version), FactAt("neither_line_nor_file_changed", version)
        self._add(_ChangeStep(touched, claimed, facts[0], unchanged, facts[1]))

    def look(self, version: int, *, by: str, number: int) -> None:
        """Everything was in scope."""
        self._add(_LookStep(LifeEvent(version, "not_repeated", by, number)))

    def _add(self, step: _ChangeStep | _LookStep) -> None:
        self._steps.append(step)
        self._lapses.clear()

    def bring(self, finding: LedgerFinding) -> None:
        """Bring a finding up to date, with its file and its report as they have been since it was last brought."""
        began, finding.steps = finding.steps, len(self._steps)
        if finding.state == "fixed" or began == finding.steps:
            return
        claimed = finding.life[-1].act == "claimed"
        situation = _Situation(began, finding.spot.path, finding.blocking, finding.state, claimed)
        lapse = self._lapses.get(situation)
        if lapse is None:
            lapse = self._lapses[situation] = self._lapse(situation)
        finding.attempts += lapse.attempts
        finding.life += lapse.life
        if lapse.why is not None:
            finding.state, finding.state_why = lapse.state, lapse.why

    def pass_over(self, finding: LedgerFinding) -> None:
        """The newest step, or the coming one, is not about this finding: what it means is known."""
        finding.steps = len(self._steps)

    def _lapse(self, situation: _Situation) -> _Lapse:
        began, path, blocking, state, just_claimed = situation
        why: FactAt | None = None
        attempts, life = 0, list[LifeEvent]()
        for step in self._steps[began:]:
            if isinstance(step, _LookStep):
                if just_claimed and state == "claimed":
                    just_claimed = False
                    life.append(step.not_repeated)
            elif blocking:
                attempts += 1
                if not path or path in step.touched:
                    state, why, just_claimed = "claimed", step.worked_on, True
                    life.append(step.claimed)
                elif state not in ("claimed", "unchanged"):  # else an earlier change has worked on it
                    state, why = "unchanged", step.untouched
                    life.append(step.unchanged)
        return _Lapse(state, why, attempts, tuple(life))
