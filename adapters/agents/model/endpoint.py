"""The endpoint of the model agent: its settings, and reading its chat completions.

The settings are checked when the team file is read. A completion is read piece by piece: a stream of chunks, or the
whole at once. Endpoints are not trusted: anything with an unknown shape is ignored, and never raises.
"""

from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import AfterValidator, Field

from adapters.references import SecretReference, web_address
from domain.values.base import Value
from domain.values.sentences import Sentence, at_place

Speaks = Literal["planner", "architect", "designer", "reviewer", "judge", "assistant", "coder", "critic", "synthesizer"]
"""The roles that only write text. All others change files, which a model cannot."""
SPEAKS: Final[tuple[Speaks, ...]] = get_args(Speaks)
Seconds = Annotated[float, Field(gt=0, le=604_800)]


def _address(url: str) -> str:
    """The address without a slash at its end."""
    parts = web_address(url)
    if parts.query or parts.fragment:
        raise ValueError(Sentence("not_a_base_url"))
    return url.rstrip("/")


class ModelSettings(Value):
    """`/chat/completions` is appended to `base_url`. Without `api_key` (`env:NAME`, `file:/path`), no key is sent."""

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S([^\x00-\x1f\x7f]*\S)?$")] | None = None
    base_url: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_address)]
    api_key: SecretReference | None = None
    max_tokens: Annotated[int, Field(gt=0, le=10_000_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    timeout_seconds: Seconds | None = None
    idle_seconds: Seconds | None = None
    output_bytes: Annotated[int, Field(gt=0, le=1_073_741_824)] | None = None

    def named(self, model: str | None) -> Self:
        """The same settings with this model, unless they name one."""
        return self if self.model or not model else self.model_copy(update={"model": model})

    def unfit(self, roles: Iterable[str]) -> Sentence | None:
        """The field that is unsuitable for an agent in these roles, and why."""
        for number, role in enumerate(roles):
            if role not in SPEAKS:
                return at_place(f"roles[{number}]", Sentence("not_a_role_of_a_model", given=role, names=SPEAKS))
        return at_place("settings.model", Sentence("value_missing")) if self.model is None else None
