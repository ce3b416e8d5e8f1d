"""Measures how far the participants of a discussion agree, how little still changes, and what follows (K-26, K-30)."""

from collections.abc import Callable, Sequence
from math import fsum
from typing import Literal, NamedTuple

from domain.convergence.counts import AgreementSignals, Reading, overlap, read
from domain.convergence.profiles import SEED, Profile
from domain.values.base import Count, Value

Recommendation = Literal["converged", "stalled", "continue"]


Ending = Literal["converged", "stalled", "limit"]


_EXACT = 1e-9
"""Values closer than this count as equal: a mean of thirds that should be 0.7 is 0.7."""


_DISCUSSIONS = 64
"""Number of discussions that are continued without reading them again."""


_memo: "dict[tuple[str, Profile], Course]" = {}


class Round(Value):
    """One contribution: round, role and text."""

    round: Count
    role: str
    content: str


class Metrics(Value):
    """The convergence of a discussion: three shares from 0 to 1, what they recommend, and the profile's name."""

    agreement_ratio: float
    avg_stability: float
    overall_score: float
    recommendation: Recommendation
    profile: str


class RoundText(NamedTuple):
    """The same as a `Round`, but cheap to create in large numbers."""

    round: int
    role: str
    content: str


class _Counts(NamedTuple):
    """The counts of a contribution. `common` is its similarity to the previous one in the same role, or None if they
    cannot be compared."""

    number: int
    role: str
    signals: AgreementSignals
    says: bool
    common: float | None


class _Level(NamedTuple):
    ratio: float
    stability: float
    score: float
    paired: bool


class Course:
    """The counts of a discussion; each text is read once, when it is added."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.counts: list[_Counts] = []
        self._latest: dict[str, Reading] = {}
        """By role."""
        self._ratios: list[float] = []
        self._common: list[float] = []
        self._numbers: dict[int, int] = {}
        """How many contributions each round has."""

    def add(self, contribution: Round | RoundText) -> None:
        """An empty contribution cannot be compared with its neighbours, nor are its neighbours compared with each
        other."""
        reading, before = read(contribution.content, self.profile), self._latest.get(contribution.role)
        common = None if before is None else overlap(before.words, reading.words, self.profile)
        self.counts.append(_Counts(contribution.round, contribution.role, reading.signals, reading.says, common))
        self._latest[contribution.role] = reading
        self._numbers[contribution.round] = self._numbers.get(contribution.round, 0) + 1
        self._ratios.append(reading.signals.ratio)
        if common is not None:
            self._common.append(common)

    def metrics(self) -> Metrics:
        """The convergence so far."""
        level = self._level()
        return Metrics(
            agreement_ratio=level.ratio,
            avg_stability=level.stability,
            overall_score=level.score,
            recommendation=self._recommendation(level),
            profile=self.profile.name,
        )

    def _level(self) -> _Level:
        if self.profile.ratio_over == "last" or not self.counts:
            return _level(self.counts, self.profile)
        return _level_of(_mean(self._ratios), self._common, self.profile)

    def _recommendation(self, level: _Level) -> Recommendation:
        everybody_speaks = all(reading.says for reading in self._latest.values())
        if everybody_speaks and _converged(level, self.profile):
            return "converged"
        return "stalled" if self._stalled(level) else "continue"

    def _stalled(self, level: _Level) -> bool:
        counts, profile = self.counts, self.profile
        if profile.patience is not None and len(counts) >= profile.patience:
            return True
        if profile.stall is None or not level.paired or _reaches(level.stability, profile.stall):
            return False
        if profile.ratio_over == "last":
            earlier = counts[: len(counts) - len(_last_round(counts))]
            rounds, score = len({t.number for t in earlier}), _level(earlier, profile).score
        else:
            rounds = len(self._numbers) - (self._numbers[counts[-1].number] == 1)
            common = self._common if counts[-1].common is None else self._common[:-1]
            score = _level_of(_mean(self._ratios[:-1]), common, profile).score if len(counts) > 1 else 0.0
        return rounds >= profile.stall_after and _reaches(score, level.score)


def assess(rounds: Sequence[Round | RoundText], profile: Profile = SEED) -> Metrics:
    """The convergence after these rounds, in the given order. Without rounds: 0, 0, 0, continue."""
    return _course(rounds, profile).metrics()


def course(rounds: Sequence[Round | RoundText], profile: Profile = SEED) -> list[Metrics]:
    """The convergence after the first round, after the first two, and so on. Each text is read only once."""
    metrics, so_far = [], Course(profile)
    for contribution in rounds:
        so_far.add(contribution)
        metrics.append(so_far.metrics())
    return metrics


def assess_next(
    before: str,
    after: str,
    rounds: Callable[[], Sequence[Round | RoundText]],
    newest: Round | RoundText,
    profile: Profile,
) -> Metrics:
    """The same as `assess` of all rounds, of which usually only the newest is read: `before` and `after` identify the
    rounds without and with it."""
    so_far = _memo.pop((before, profile), None)
    if so_far is None:
        so_far = _course(rounds(), profile)
    else:
        so_far.add(newest)
    _memo[after, profile] = so_far
    for key in tuple(_memo)[:-_DISCUSSIONS]:  # other threads may do the same
        _memo.pop(key, None)
    return so_far.metrics()


def _course(rounds: Sequence[Round | RoundText], profile: Profile) -> Course:
    so_far = Course(profile)
    for contribution in rounds:
        so_far.add(contribution)
    return so_far


def stop_reason(recommendation: Recommendation, rounds: int, limit: int) -> Ending | None:
    """Returns why the discussion ends after this many rounds, or None if it continues. `limit` is the maximum number of
    rounds, but at least the strategy's minimum (K-28). Reaching it without converging or stalling is a separate
    reason."""
    if recommendation != "continue":
        return recommendation
    return "limit" if rounds >= limit else None


def _level(counts: Sequence[_Counts], profile: Profile) -> _Level:
    if not counts:
        return _Level(ratio=0.0, stability=0.0, score=0.0, paired=False)
    return _level_of(_ratio(counts, profile), _pairs(counts, profile), profile)


def _level_of(ratio: float, pairs: Sequence[float], profile: Profile) -> _Level:
    stability = _mean(pairs) if pairs else profile.stability_without_pair
    score = profile.agreement_weight * ratio + (1 - profile.agreement_weight) * stability
    return _Level(ratio=ratio, stability=stability, score=min(score, 1.0), paired=bool(pairs))


def _ratio(counts: Sequence[_Counts], profile: Profile) -> float:
    if profile.ratio_over == "all":
        return _mean([t.signals.ratio for t in counts])
    signals = [t.signals for t in _last_round(counts)]
    return AgreementSignals(sum(s.agreement for s in signals), sum(s.disagreement for s in signals)).ratio


def _pairs(counts: Sequence[_Counts], profile: Profile) -> list[float]:
    """The similarity of each contribution to the previous one in the same role; with a ratio, only of the last
    round."""
    counted = counts if profile.ratio_over == "all" else _last_round(counts)
    return [t.common for t in counted if t.common is not None]


def _converged(level: _Level, profile: Profile) -> bool:
    if not level.paired:
        return False
    alone = profile.stability_alone
    if alone is not None and _reaches(level.stability, alone):
        return True
    return _reaches(level.ratio, profile.agreement) and _reaches(level.stability, profile.stability)


def _last_round(counts: Sequence[_Counts]) -> Sequence[_Counts]:
    """The contributions at the end that belong to the last round."""
    start = len(counts)
    while start and counts[start - 1].number == counts[-1].number:
        start -= 1
    return counts[start:]


def _reaches(share: float, threshold: float) -> bool:
    return share >= threshold - _EXACT


def _mean(shares: Sequence[float]) -> float:
    return fsum(shares) / len(shares)
