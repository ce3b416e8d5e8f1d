"""What a running program says: its answer, or why there is none, and Claude Code's requests for permission.

These requests are lines of JSON in the program's output, and are answered on its standard input.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from adapters.agents.activity import Activity, tail
from adapters.agents.command.call import Call
from adapters.agents.command.conversation import AgentConversation, program_id
from adapters.agents.command.output import Message, error_of, has_final, messages, model_of, text_of, usage_of
from adapters.agents.command.questions import StdioQuestions
from adapters.agents.command.settings import CommandSettings
from adapters.agents.failures import LINES, TAIL, code_of_exit, failure_of, last_lines
from adapters.agents.port import Reply, Turn
from adapters.agents.streams import activities
from adapters.processes.program import Finished
from domain.session.attempts import Failure, FailureCode
from domain.values.sentences import Sentence, because, coded, rewritten


@dataclass(frozen=True, slots=True)
class Run:
    """A finished program, and how it was called."""

    settings: CommandSettings
    call: Call
    finished: Finished

    def reply(self, conversation: AgentConversation, *, most: int) -> Reply:
        """The answer, limited to a number of bytes, or the failure; usage as the program reports it."""
        settings, finished, call = self.settings, self.finished, self.call
        output = messages(finished.stdout) if settings.output == "json" else ()
        picked = text_of(output, settings.text_path) if settings.text_path else self._spoken()
        masked = call.secrets.named_in(picked or "")
        text, too_long = cut(call.scrub(picked or "").strip("\r\n"), most)
        failure = self._end(output) or self._doubt(output) or self._error_text(text)
        if too_long and failure is None:
            failure = Failure.of("limit", Sentence("answer_too_long", number=most))
        if not text.strip() and failure is None:
            failure = self._failed("unreadable", Sentence("no_answer_given"), output)
        return Reply(
            text=text,
            usage=usage_of(output, settings.usage_paths),
            model=call.scrub(model_of(output, settings.usage_paths) or "") or settings.model,
            agent_session=self._handle(output, conversation),
            failure=failure,
            truncated=too_long or finished.truncated,
            masked=masked,
        )

    def _spoken(self) -> str:
        """Plain text without the lines that are not part of the answer."""
        skip = self.settings.skip_lines
        lines = self.finished.stdout.split("\n")
        return "\n".join(line for line in lines if skip is None or not re.match(skip, line))

    def _end(self, output: Sequence[Message]) -> Failure | None:
        """Why the process did not end well, if it did not."""
        finished = self.finished
        match finished.ended:
            case "not_started" if not self.call.cwd.is_dir():
                return Failure.of("workspace", self._not_started())
            case "not_started":
                return Failure.of("refused", self._not_started())
            case "timeout" | "idle":
                return self._failed(finished.ended, coded(finished.detail), output)
            case "output" | "disk":
                return Failure.of("limit", finished.detail)
            case "exit" if finished.exit_code != 0:
                code = code_of_exit(finished.exit_code, self._error_message(output))
                return self._failed(code, Sentence("program_ended", number=finished.exit_code), output)
            case _:
                return None

    def _doubt(self, output: Sequence[Message]) -> Failure | None:
        """Why a program that ended well has no answer; an exit code proves nothing."""
        final = self.settings.require_final
        if error_of(output, self.settings.error_path) is not None:
            return self._failed("crash", None, output)
        if self.settings.output == "json" and not output:
            return self._failed("unreadable", Sentence("program_wrote_no_json"), output)
        if not has_final(output, final):
            return self._failed("unreadable", Sentence("program_ended_early", name=final), output)
        return None

    def _error_text(self, text: str) -> Failure | None:
        """An answer that is really an error."""
        shape = self.settings.error_text
        if shape is None or not re.fullmatch(shape, text.strip(), re.DOTALL):
            return None
        lines = last_lines(text)
        return failure_of("crash", lines, output=lines, rules=self.settings.failures)

    def _not_started(self) -> str:
        return rewritten(self.finished.detail, lambda text: self.call.scrub(text)[:TAIL])

    def _failed(self, code: FailureCode, sentence: Sentence | None, output: Sequence[Message]) -> Failure:
        """The failure, with the end of the program's error text, which may determine a more specific code."""
        lines = self._error_message(output)
        why = because(sentence, lines) if sentence else lines
        return failure_of(code, why, output=lines, rules=self.settings.failures)

    def _error_message(self, output: Sequence[Message]) -> str:
        """The error text: the reported error, otherwise stderr, otherwise the end of stdout without JSON."""
        message = error_of(output, self.settings.error_path)
        words = message or self.finished.stderr
        if not words.strip():
            words = _outside_json(self.finished.stdout) if self.settings.output == "json" else self.finished.stdout
        return self.call.scrub(last_lines(self.call.scrub(words)))

    def _handle(self, output: Sequence[Message], conversation: AgentConversation) -> str | None:
        """The handle to resume with; None if the program cannot resume, or did not report its id."""
        settings = self.settings
        if settings.resume_argv is None:
            return None
        session = text_of(output, settings.session_path) if settings.session_path else None
        now = replace(conversation, id=program_id(session) or conversation.id)
        return now.handle if now.id or not settings.resumes_by_id else None


def _outside_json(stdout: str) -> str:
    lines = stdout.split("\n")[-10 * LINES :]
    return "\n".join(line for line in lines if line[:1] not in ("{", "["))


def cut(text: str, limit: int) -> tuple[str, bool]:
    encoded = text.encode(errors="replace")
    return (encoded[:limit].decode(errors="ignore"), True) if len(encoded) > limit else (text, False)


# Watches a program while it works: its lines become activities, and a hopeless retry is stopped at once.
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
