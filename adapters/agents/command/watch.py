"""Listening to a program while it works: its lines become activities, and a hopeless retry is ended at once."""

from collections.abc import Callable
from dataclasses import replace

import orjson

from adapters.agents.activity import Activity
from adapters.agents.command.call import Call
from adapters.agents.port import Reply
from adapters.agents.streams import Stream, activities
from domain.session.turns import Failure


class Hopeless(Exception):
    """The program retries what cannot succeed without a person."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Watch:
    """Reads the lines of one run. `observe` hears each activity, without secrets."""

    def __init__(self, stream: Stream, call: Call, observe: Callable[[Activity], None] | None) -> None:
        self._stream, self._call, self._observe = stream, call, observe
        self._retry: Activity | None = None

    def line(self, text: str) -> None:
        """Raises `Hopeless`."""
        if not text.startswith("{"):
            return
        try:
            message = orjson.loads(self._call.scrub(text))
        except orjson.JSONDecodeError:
            return
        for activity in activities(self._stream, message):
            self._retry = activity if activity.kind == "retry" else None
            if self._observe is not None:
                self._observe(activity)
            if activity.kind == "retry" and activity.failure == "auth":
                raise Hopeless(Failure(code="auth", detail=f"The provider refused the login: {activity.text}."))

    def explained(self, reply: Reply) -> Reply:
        """The reply; of a program that was stopped while it retried, with what it retried for."""
        failure, retry = reply.failure, self._retry
        if failure is None or failure.code not in ("timeout", "idle") or retry is None or retry.failure is None:
            return reply
        detail = f"{failure.detail.rstrip('.')}, while it retried: {retry.text}."
        return replace(reply, failure=Failure(code=retry.failure, detail=detail, retry_after=failure.retry_after))
