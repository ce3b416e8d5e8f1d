"""A running program and its output: its answer, or why there is none, and Claude Code's requests for permission.

These requests are lines of JSON in the program's output, and are answered on its standard input.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.agents.command.call import Call
from adapters.agents.command.conversation import AgentConversation, program_id
from adapters.agents.command.output import Message, error_of, has_final, messages, model_of, text_of, usage_of
from adapters.agents.command.settings import CommandSettings
from adapters.agents.failures import LINES, TAIL, code_of_exit, failure_of, last_lines
from adapters.agents.port import Reply
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
        """Tells why the process did not end well, if it did not."""
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
        """Tells why a program that ended well has no answer; an exit code proves nothing."""
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
