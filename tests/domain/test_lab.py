"""The policy lab: recorded discussions under other profiles (`domain/lab`)."""

from typing import Any

import pytest

from domain.convergence.assessment import Round, assess, course
from domain.convergence.profiles import MYSTI, SEED, SHIPPED_V3, Profile
from domain.discussion.lab import LabTalk, rescore, tally

AGREED = "I agree and accept, this is a valid point; however, mind the limit."
"""Three words for, one against: repeated, it converges for every profile except one that requires full agreement."""
NEW = ("Alpha beta gamma delta.", "Epsilon zeta theta iota.", "Kappa lambda sigma omega.", "Upsilon omicron kappa tau.")
LENIENT = SEED.model_copy(update={"name": "lenient", "agreement": 0.0, "stability": 0.0})
NEVER = SEED.model_copy(update={"name": "never", "agreement": 1.0, "stability": 1.0, "stall": None})


def talk(*words: str, stop: str | None = "limit", **fields: Any) -> LabTalk:
    """A review by turns; critiques judge NEEDS_FIX unless `suggestions` says otherwise."""
    roles = ("critique", "rebuttal")
    rounds = tuple(
        Round(round=at, role=roles[(at + 1) % 2], content=output) for at, output in enumerate(words, start=1)
    )
    settings: dict[str, Any] = {
        "session_id": "review-1",
        "kind": "review",
        "strategy": "review",
        "profile": "seed@1",
        "minimum": 1,
        "max_rounds": len(words),
        "suggestions": ("apply_fix",) * len(words),
    }
    return LabTalk(rounds=rounds, stop_reason=stop, **(settings | fields))


@pytest.mark.parametrize(
    ("found", "profile", "expected"),
    [
        (talk(*[AGREED] * 3, stop="converged"), SEED, ("converged", 3, "same")),
        (talk(*[AGREED] * 5), SEED, ("converged", 3, "earlier")),
        (talk(*NEW), LENIENT, ("converged", 3, "earlier")),
        (talk(*NEW), NEVER, ("limit", 4, "same")),
        (talk(*[AGREED] * 3, stop="converged", max_rounds=9), NEVER, ("unknown", None, "later")),
        (talk(*NEW, stop="stalled", max_rounds=9), NEVER, ("unknown", None, "later")),
        (talk(*NEW, stop="error", max_rounds=9), NEVER, ("unknown", None, "unknown")),
        (talk(*NEW, stop="cancelled", max_rounds=9), NEVER, ("unknown", None, "unknown")),
        (talk(*NEW, stop=None, max_rounds=9), NEVER, ("unknown", None, "unknown")),
        (talk(*[AGREED] * 3, stop="error", max_rounds=9), SEED, ("converged", 3, "earlier")),
        (talk(*[AGREED] * 3, stop=None, max_rounds=9), SEED, ("converged", 3, "earlier")),
        (talk(stop="error", max_rounds=3), SEED, ("unknown", None, "unknown")),
        (talk(*NEW, minimum=4), LENIENT, ("converged", 4, "same")),
        (talk(*NEW), SHIPPED_V3, ("stalled", 3, "earlier")),
    ],
)
def test_where_a_profile_would_have_stopped_against_the_record(
    found: LabTalk, profile: Profile, expected: tuple[str, int | None, str]
) -> None:
    outcome = rescore(found, profile)
    assert (outcome.reason, outcome.round, outcome.against) == expected
    assert outcome.profile == profile.id


@pytest.mark.parametrize(
    ("choice", "decided_by", "suggestions", "overruled"),
    [
        ("apply_fix", "person", ("apply_fix",) * 5, False),
        ("skip", "person", ("apply_fix",) * 5, True),
        ("skip", "person", ("apply_fix", "apply_fix", "skip", "skip", "apply_fix"), False),
        ("skip", "person", (None,) * 5, None),
        ("skip", "expired", ("apply_fix",) * 5, None),
        ("skip", "cancelled", ("apply_fix",) * 5, None),
        (None, None, ("apply_fix",) * 5, None),
    ],
)
def test_a_decision_against_the_suggestion_counts_as_overruled(
    choice: str | None, decided_by: Any, suggestions: tuple[str | None, ...], overruled: bool | None
) -> None:
    story = talk(*[AGREED] * 5, choice=choice, decided_by=decided_by, suggestions=suggestions)
    assert rescore(story, SEED).overruled is overruled


def test_a_discussion_past_its_recorded_end_suggests_nothing() -> None:
    story = talk(*NEW, stop="stalled", max_rounds=9, choice="skip", decided_by="person")
    outcome = rescore(story, NEVER)
    assert (outcome.suggestion, outcome.overruled) == (None, None)


def test_outcomes_are_counted_by_profile() -> None:
    person: dict[str, Any] = {"choice": "skip", "decided_by": "person"}
    talks = [
        talk(*[AGREED] * 3, stop="converged", max_rounds=9, **person),
        talk(*[AGREED] * 5, suggestions=("skip",) * 5, **person),
        talk(*NEW, stop="error", max_rounds=9, **person),
        talk(*[AGREED] * 4, stop="limit"),
    ]
    outcomes = [rescore(result, profile) for result in talks for profile in (SEED, NEVER)]
    assert tally("seed@1", outcomes).model_dump() == {
        "profile": "seed@1",
        "discussions": 4,
        "earlier": 3,
        "same": 1,
        "later": 0,
        "unknown": 0,
        "converged": 3,
        "upheld": 1,
        "overruled": 1,
    }
    assert tally("never@1", outcomes).later == 1
    assert tally("never@1", outcomes).unknown == 1


@pytest.mark.parametrize("profile", [SEED, SHIPPED_V3, MYSTI])
def test_the_course_of_a_discussion_is_its_assessments_one_by_one(profile: Profile) -> None:
    rounds = talk(*NEW, AGREED, AGREED, "", AGREED).rounds
    assert course(rounds, profile) == [assess(rounds[:number], profile) for number in range(1, len(rounds) + 1)]
    assert course((), profile) == []
