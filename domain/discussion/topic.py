"""What is discussed, how, and for whom."""

from pydantic import Field

from domain.convergence import Profile
from domain.values.base import Text, Value


class ReviewSettings(Value):
    """How a session wants its plan or its work discussed."""

    strategy: str = Field(description="how the voices talk")
    max_rounds: int = Field(description="the effective limit")
    profile: Profile = Field(description="the thresholds by which it is judged")
    expires_ms: int | None = Field(default=None, description="how long a decision may wait")
    expires_as: str | None = Field(default=None, description="what then stands in for a decision")


class Link(Value):
    """The session that asked for this discussion, and what of it is discussed."""

    session_id: str = Field(description="the parent")
    about: str = Field(description="plan, agent:<place> or delivery")


class DiscussionBrief(Value):
    """What a discussion is started with."""

    subject: Text = Field(description="the text that is discussed")
    strategy: str = Field(description="how the voices talk")
    max_rounds: int = Field(description="the effective limit: the larger of setting and the strategy's minimum")
    profile: Profile = Field(description="the thresholds by which it is judged")
    title: str = ""
    origin: str = Field(default="", description="where the request came from")
    labels: tuple[str, ...] = ()
    workspace: str | None = Field(default=None, description="the folder that was named; null for a fresh one")
    repository: bool = Field(default=False, description="whether that folder belongs to a git repository")
    home: str | None = Field(default=None, description="the session whose workspace is looked at; else its own")
    tree: str | None = Field(default=None, description="the state of that workspace under discussion")
    lane: int = Field(default=0, description="which folder of that workspace is the discussion's own")
    scenario: Text | None = Field(default=None, description="what scripted agents say in this session")
    crew: dict[str, str] = Field(default={}, description="the agent's name for each role")
    parent: Link | None = Field(default=None, description="who asked for it, if a session did")
    expires_ms: int | None = Field(default=None, description="how long a decision may wait")
    expires_as: str | None = Field(default=None, description="what then stands in for a decision")
