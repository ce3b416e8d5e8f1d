"""From the rounds of a discussion to what follows: converged, stalled, or continue (K-26, K-28, K-30)."""

from collections.abc import Sequence
from math import fsum
from typing import Literal, NamedTuple

from domain.convergence.counting import AgreementSignals, overlap, read
from domain.convergence.profiles import SEED, Profile
from domain.values.base import Count, Value

Recommendation = Literal["converged", "stalled", "continue"]
Ending = Literal["converged", "stalled", "limit"]

_EXACT = 1e-9
"""Values closer than this count as equal: a mean of thirds that should be 0.7 is 0.7."""


_DISCUSSIONS = 64
"""Number of discussions whose counts are cached, ..."""
_LONGEST = 2_000
"""... with at most this many rounds."""
_memo: dict[object, "tuple[_Counts, ...]"] = {}


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


def assess(rounds: Sequence[Round | RoundText], profile: Profile = SEED) -> Metrics:
    """The convergence after these rounds, in the given order. Without rounds: 0, 0, 0, continue."""
    return _metrics(_counts(rounds, profile), profile)


def course(rounds: Sequence[Round | RoundText], profile: Profile = SEED) -> list[Metrics]:
    """The convergence after the first round, after the first two, and so on. Each text is read only once."""
    counts = _counts(rounds, profile)
    return [_metrics(counts[:number], profile) for number in range(1, len(counts) + 1)]


def stop_reason(recommendation: Recommendation, rounds: int, limit: int) -> Ending | None:
    """Why the discussion ends after this many rounds, or None if it continues. `limit` is the maximum number of rounds,
    but at least the strategy's minimum (K-28). Reaching it without converging or stalling is a separate reason."""
    if recommendation != "continue":
        return recommendation
    return "limit" if rounds >= limit else None


def _counts(rounds: Sequence[Round | RoundText], profile: Profile) -> tuple[_Counts, ...]:
    """The counts of each contribution. A discussion is judged after every round, so usually only the newest one is
    read."""
    texts = tuple(RoundText(r.round, r.role, r.content) for r in rounds)
    judged = (profile.words, profile.similarity)
    counts = _memo.pop((judged, texts[:-1]), ()) if texts else ()
    for at in range(len(counts), len(texts)):
        counts = (*counts, _count(texts, at, profile))
    if texts and len(texts) <= _LONGEST:
        _memo[judged, texts] = counts
        for key in tuple(_memo)[:-_DISCUSSIONS]:  # other threads may do the same
            _memo.pop(key, None)
    return counts


def _count(texts: Sequence[RoundText], at: int, profile: Profile) -> _Counts:
    """An empty contribution cannot be compared with its neighbours, nor are its neighbours compared with each other."""
    number, role, content = texts[at]
    reading = read(content, profile)
    before = next((texts[place].content for place in range(at - 1, -1, -1) if texts[place].role == role), None)
    common = None if before is None else overlap(read(before, profile).words, reading.words, profile)
    return _Counts(number, role, reading.signals, reading.says, common)


def _metrics(counts: Sequence[_Counts], profile: Profile) -> Metrics:
    level = _level(counts, profile)
    return Metrics(
        agreement_ratio=level.ratio,
        avg_stability=level.stability,
        overall_score=level.score,
        recommendation=_recommendation(counts, level, profile),
        profile=profile.name,
    )


def _level(counts: Sequence[_Counts], profile: Profile) -> _Level:
    if not counts:
        return _Level(ratio=0.0, stability=0.0, score=0.0, paired=False)
    ratio, pairs = _ratio(counts, profile), _pairs(counts, profile)
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
    pool = counts if profile.ratio_over == "all" else _last_round(counts)
    return [t.common for t in pool if t.common is not None]


def _recommendation(counts: Sequence[_Counts], level: _Level, profile: Profile) -> Recommendation:
    if _everybody_speaks(counts) and _converged(level, profile):
        return "converged"
    return "stalled" if _stalled(counts, level, profile) else "continue"


def _converged(level: _Level, profile: Profile) -> bool:
    if not level.paired:
        return False
    alone = profile.stability_alone
    if alone is not None and _reaches(level.stability, alone):
        return True
    return _reaches(level.ratio, profile.agreement) and _reaches(level.stability, profile.stability)


def _stalled(counts: Sequence[_Counts], level: _Level, profile: Profile) -> bool:
    if profile.patience is not None and len(counts) >= profile.patience:
        return True
    if profile.stall is None or not level.paired or _reaches(level.stability, profile.stall):
        return False
    earlier = counts[: len(counts) - len(_last_round(counts))] if profile.ratio_over == "last" else counts[:-1]
    if len({t.number for t in earlier}) < profile.stall_after:
        return False
    return _reaches(_level(earlier, profile).score, level.score)


def _everybody_speaks(counts: Sequence[_Counts]) -> bool:
    """Whether every participant's latest contribution has text: silence is not consent (K-30). Words that are too short
    to compare still count as text."""
    latest = {t.role: t.says for t in counts}
    return all(latest.values())


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
