"""Named, versioned ways to judge a discussion (K-26): numbers as data, so that an event can record which ones applied.

`seed` is S2 (0.7 / 0.8 / stalled: not improving and stability < 0.3) over pairs of the same role. `shipped-v3` and
`mysti` keep their own words and numbers (behaviour 2.3). The corrections of K-30 apply to all of them: headings, fenced
code and the verdict object do not count, a negated word does not count for the wrong side, words are Unicode words, and
without words there is no pair and no convergence.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, ValidationError

from domain.values.base import Count, Invalid, Value
from domain.values.sentences import Sentence, of_pydantic

Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
"""A number from 0 to 1; digits in quotes and booleans are not numbers."""


class Thresholds(Value):
    """A caller's own numbers; missing ones are taken from `seed`. The names of the metrics are accepted, too."""

    agreement: Share = Field(default=0.7, validation_alias=AliasChoices("agreement", "agreementRatio"))
    stability: Share = Field(default=0.8, validation_alias=AliasChoices("stability", "avgStability"))
    stall: Share = Field(default=0.3, description="stability below which a discussion that does not improve is stalled")
    agreement_weight: Share = Field(default=0.6, description="share of the ratio in the score; stability has the rest")


class Profile(Value):
    """The thresholds for `assess`, from 0 to 1."""

    name: str
    version: Count = 1
    words: Literal["seed@1", "shipped-v3@1", "mysti@1"] = "seed@1"
    similarity: Literal["jaccard", "larger"] = Field(
        default="jaccard", description="shared ÷ all words of ≥ 3 characters, or ÷ the larger set, of > 3 characters"
    )
    ratio_over: Literal["all", "last"] = Field(default="all", description="mean of all rounds, or the last round alone")
    agreement: Share = 0.7
    stability: Share = 0.8
    stability_alone: Share | None = Field(default=None, description="converges at this stability, however few agree")
    stability_without_pair: Share = 0.0
    agreement_weight: Share = 0.6
    stall: Share | None = Field(default=0.3, description="None: stability does not stall a discussion")
    stall_after: Count = Field(default=1, description="number of assessments before a stall is possible")
    patience: Count | None = Field(default=None, description="stalled after this many rounds")

    @property
    def id(self) -> str:
        """Name and version as events record them, such as `seed@1`."""
        return f"{self.name}@{self.version}"


SEED = Profile(name="seed")
SHIPPED_V3 = Profile(
    name="shipped-v3",
    words="shipped-v3@1",
    agreement=0.55,
    stability=0.5,
    stability_alone=0.8,
    stall=None,
    patience=3,
)
MYSTI = Profile(
    name="mysti",
    words="mysti@1",
    similarity="larger",
    ratio_over="last",
    stability_without_pair=0.5,
    stall_after=2,
)
PROFILES: Mapping[str, Profile] = MappingProxyType({p.name: p for p in (SEED, SHIPPED_V3, MYSTI)})


def named(profile: str | Thresholds | Mapping[str, object] = "seed") -> Profile:
    """The profile of that name, or `seed` with the given thresholds, then named `custom`.

    Raises `Invalid` at `/profile` for an unknown name, or at `/profile/<field>` for an invalid threshold.
    """
    if isinstance(profile, str):
        if profile not in PROFILES:
            raise Invalid({"/profile": Sentence("unknown_profile", names=list(PROFILES))})
        return PROFILES[profile]
    thresholds = profile if isinstance(profile, Thresholds) else _thresholds(profile)
    return SEED.model_copy(update={"name": "custom", **thresholds.model_dump()})


def _thresholds(fields: Mapping[str, object]) -> Thresholds:
    try:
        return Thresholds.model_validate(dict(fields))
    except ValidationError as error:
        problems = {_pointer(problem["loc"]): of_pydantic(problem) for problem in error.errors(include_input=False)}
    raise Invalid(problems)


def _pointer(location: tuple[int | str, ...]) -> str:
    return "/profile" + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in location)
