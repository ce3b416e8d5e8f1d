"""What is discussed, how, and for whom."""

from pydantic import Field

from domain.base import Text, Value
from domain.convergence import Profile


class Wish(Value):
    """How a session wants its plan or its work discussed."""

    strategy: str
    max_rounds: int
    profile: Profile
    expires_ms: int | None = Field(default=None, description="how long a decision may wait")
    expires_as: str | None = Field(default=None, description="what then stands in for a decision")


class Link(Value):
    """The session that asked for this discussion, and what of it is discussed."""

    session_id: str
    about: str = Field(description="plan, agent:<place> or delivery")


class Topic(Value):
    """What a discussion is started with."""

    subject: Text
    strategy: str
    max_rounds: int = Field(description="the effective limit: the larger of setting and the strategy's minimum")
    profile: Profile
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    workspace: str | None = None
    repository: bool = False
    home: str | None = Field(default=None, description="the session whose workspace is looked at; else its own")
    tree: str | None = Field(default=None, description="the state of that workspace under discussion")
    lane: int = Field(default=0, description="which folder of that workspace is the discussion's own")
    scenario: Text | None = None
    crew: dict[str, str] = {}
    parent: Link | None = None
    expires_ms: int | None = Field(default=None, description="how long a decision may wait")
    expires_as: str | None = Field(default=None, description="what then stands in for a decision")
