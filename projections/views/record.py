"""Views of a session's record: its budget over time, and its artifacts."""

from pydantic import Field

from projections.views.base import Page, View


class BudgetEntry(View):
    """The budget at one event; what the session's kind does not have is null."""

    version: int
    at: str
    type: str
    phase: str | None
    iteration: int | None
    elapsed_ms: int
    remaining_iterations: int | None
    reason: str | None
    round: int | None
    remaining_rounds: int | None
    max_iterations: int | None
    max_minutes: int | None
    max_rounds: int | None
    tokens: int | None
    cost_micros: int | None
    unknown_turns: int


class BudgetPage(Page):
    items: tuple[BudgetEntry, ...]


class ArtifactItem(View):
    artifact_id: str
    version: int
    phase: str | None
    iteration: int
    created_at: str
    media_type: str
    length: int = Field(description="UTF-8 bytes of the whole text")
    digest: str | None
    patch_length: int | None
    patch_digest: str | None


class ArtifactPage(Page):
    items: tuple[ArtifactItem, ...]


class ArtifactView(ArtifactItem):
    content: str
    patch: str | None
