"""Conversations with the team: the queue of an origin, and everything that was said."""

from typing import Literal

from pydantic import Field

from projections.views.base import Page, View
from projections.views.session import ResultView


class WaitingMessage(View):
    """A message in the queue; its session has this id and starts when its turn comes."""

    session_id: str
    prompt: str
    title: str
    sender: str
    queued_at: str


class ChannelView(View):
    """What an origin is busy with (a session, or null), its latest session, and its queue, in order."""

    origin: str
    busy: str | None
    latest: str | None
    queue: tuple[WaitingMessage, ...]


class ConversationItem(View):
    """Messages of one origin. `waiting`: a session that rests at a checkpoint or stopped; `running`: one at work."""

    origin: str
    updated_at: str
    waiting: str | None
    running: str | None
    messages: int = Field(description="of both sides")


class ConversationPage(Page):
    items: tuple[ConversationItem, ...]


class ConversationLine(View):
    """What a person or the team said."""

    at: str
    author: Literal["person", "team"] = Field(alias="from")
    text: str
    session_id: str


class ConversationView(View):
    origin: str
    messages: tuple[ConversationLine, ...] = Field(description="oldest first; those that wait come last")
    waiting: str | None
    running: str | None
    result: ResultView | None = Field(description="the last result; the next message starts from it")
