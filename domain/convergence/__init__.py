"""When a discussion may end: how far its participants agree, how little still changes, and what follows (K-26,
K-30).
"""

from domain.convergence.assessment import (
    Ending,
    Metrics,
    Recommendation,
    Round,
    RoundText,
    assess,
    assess_next,
    course,
    stop_reason,
)
from domain.convergence.counts import agreement, similarity
from domain.convergence.profiles import MYSTI, PROFILES, SEED, SHIPPED_V3, Profile, Thresholds, named

__all__ = [
    "MYSTI",
    "PROFILES",
    "SEED",
    "SHIPPED_V3",
    "Ending",
    "Metrics",
    "Profile",
    "Recommendation",
    "Round",
    "RoundText",
    "Thresholds",
    "agreement",
    "assess",
    "assess_next",
    "course",
    "named",
    "similarity",
    "stop_reason",
]
