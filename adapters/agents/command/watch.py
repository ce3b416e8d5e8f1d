"""Watches a program while it works: its lines become activities, and a hopeless retry is stopped at once."""

import re
from collections.abc import Iterable
from dataclasses import replace

import orjson

from adapters.agents.activity import Activity, tail
from adapters.agents.command.call import Call
from adapters.agents.command.questions import StdioQuestions
from adapters.agents.command.settings import CommandSettings
from adapters.agents.port import Reply, Turn
from adapters.agents.streams import activities
from domain.session.attempts import Failure
from domain.values.sentences import Sentence, because


class Hopeless(Exception):
    """The program retries something that cannot succeed without a person."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Watch:
    """Reads the lines of one run, with secrets removed, and reports the lines and their activities to the turn."""

    def __init__(
        self, settings: CommandSettings, call: Call, turn: Turn, questions: StdioQuestions | None = None
    ) -> None:
        self._settings, self._call, self._turn, self._questions = settings, call, turn, questions
        self._retry: Activity | None = None

    def line(self, stream: int, text: str) -> None:
        """Raises `Hopeless`."""
        line = self._call.scrub(text)
        if self._turn.transcribe is not None:
            self._turn.transcribe(line)
        for activity in self._activities(stream, line):
            if stream == 1:
                self._retry = activity if activity.kind == "retry" else None
            if self._turn.observe is not None:
                self._turn.observe(activity)
            if activity.kind == "retry" and activity.failure == "auth":
                raise Hopeless(Failure.of("auth", because(Sentence("login_refused"), activity.text or "")))
        if self._questions is not None:
            self._questions.line(stream, text)

    def _activities(self, stream: int, line: str) -> Iterable[Activity]:
        """The text of a line: stderr and plain text are meant for people."""
        if not line.strip():
            return ()
        if stream != 1:
            return (Activity(kind="notice", text=tail(line)),)
        if self._settings.output != "json":
            skip = self._settings.skip_lines
            return (Activity(kind="notice" if skip and re.match(skip, line) else "message", text=tail(line)),)
        if self._settings.stream is None or not line.startswith("{"):
            return ()
        try:
            return activities(self._settings.stream, orjson.loads(line))
        except orjson.JSONDecodeError:
            return ()

    def explained(self, reply: Reply) -> Reply:
        return explained(reply, self._retry)


def explained(reply: Reply, retry: Activity | None) -> Reply:
    """The reply; for a program that was stopped while it retried, with the reason for the retry."""
    failure = reply.failure
    if failure is None or failure.code not in ("timeout", "idle") or retry is None or retry.failure is None:
        return reply
    text = f"{failure.detail.rstrip('.')}, while it retried: {retry.text}."
    why = Sentence.foreign(text, "while_retrying", sentence=failure.why, detail=retry.text or "")
    return replace(reply, failure=Failure.of(retry.failure, why, retry_after=failure.retry_after))
