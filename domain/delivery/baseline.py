"""The baseline: the result of the validation on the untouched workspace, before any agent is asked (contract-2 §9)."""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from domain.session.attempts import Failure
from domain.session.validation import Stage, ValidationStep
from domain.values.base import Value, absent
from domain.values.sentences import Sentence, with_output


class Preparation(Value):
    """How a new workspace is prepared, from the repository's trusted settings."""

    setup: tuple[ValidationStep, ...] = Field(default=(), description="commands that run once in each new workspace")
    copy_paths: tuple[str, ...] = Field(default=(), description="ignored files that are copied from the checkout")
    link: tuple[str, ...] = Field(default=(), description="ignored folders of the checkout that are shared read-only")
    env: dict[str, str] = Field(default_factory=dict, description="variables; `./` is the top of the workspace")
    network: Literal["none", "all"] = Field(default="none", description="the network access of the validation")

    @property
    def needs_work(self) -> bool:
        """Whether a new workspace needs any preparation."""
        return bool(self.setup or self.copy_paths or self.link)


class BaselineCommand(Value):
    """The run of a validation command on the untouched workspace."""

    stage: Stage
    command: str
    startable: bool = Field(description="whether its program can be started, or may be added by the task")
    exit_code: int = Field(description="-1 if it was stopped")
    passed: bool
    seconds: float = 0.0
    detail: str = Field(default="", description="why it could not be started")
    reasons: tuple[str, ...] = Field(default=(), description="the lines that say why it failed")
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`detail` as data")
    remedy: str = Field(default="", description="what to add to hansard.toml if it needs something from the checkout")
    remedy_sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`remedy` as data")


class SetupCommand(Value):
    """The run of a set-up command."""

    command: str
    exit_code: int = Field(description="-1 if it was stopped")
    passed: bool
    seconds: float = 0.0
    tail: str = Field(default="", description="the end of its output, if it failed")


class Escape(Value):
    """`what` (a package, module or dependency) would be loaded from `path`, outside the workspace."""

    what: str
    path: str


class Baseline(Value):
    """The results of the preparation, before any agent is asked. With `env`, the workspace takes precedence over other
    folders."""

    commands: tuple[BaselineCommand, ...] = ()
    setup: tuple[SetupCommand, ...] = ()
    escapes: tuple[Escape, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, description="variables for the validation, as in `preparation`")


def unready(baseline: Baseline) -> Failure | None:
    """Why the validation would prove nothing, and what to do; None if it can be trusted."""
    for setup in baseline.setup:
        if not setup.passed:
            sentence = Sentence("setup_command_failed", command=setup.command, number=setup.exit_code)
            return Failure.of("setup_failed", with_output(sentence, setup.tail))
    for command in baseline.commands:
        if not command.startable:
            remedy = command.remedy_sentence or command.remedy
            why = not_startable(command.command, command.sentence or command.detail, remedy)
            return Failure.of("validation_not_startable", why)
    if baseline.escapes:
        sources = [Sentence("comes_from", what=escape.what, path=escape.path) for escape in baseline.escapes]
        return Failure.of("validation_escapes_workspace", Sentence("validation_escapes", sources=sources))
    return None


def not_startable(command: str, detail: str, remedy: str = "") -> Sentence:
    """What to do if the program of a validation command cannot be started."""
    advice = [detail, remedy or Sentence("install_program"), Sentence("retry_baseline")]
    return Sentence("validation_not_startable", command=command, after=[part for part in advice if part])


def red(commands: Sequence[BaselineCommand]) -> str:
    """What the developer and the reviewer read about commands that failed before any change; empty if none did."""
    lines = [_line(command) for command in commands if not command.passed]
    return "\n".join(["These commands failed before any change:", *lines]) if lines else ""


def _line(command: BaselineCommand) -> str:
    reasons = "".join(f"\n  {reason}" for reason in command.reasons)
    return f"- `{command.command}` (exit code {command.exit_code}){reasons}"


def new_failures(reasons: Sequence[str], before: Sequence[BaselineCommand]) -> tuple[str, ...]:
    """The reasons that no command gave before any change. Line numbers are ignored, because they move."""
    earlier = {_without_lines(reason) for command in before for reason in command.reasons}
    return tuple(reason for reason in reasons if _without_lines(reason) not in earlier)


def _without_lines(reason: str) -> str:
    return re.sub(r"(?<=[:(])\d+(?:[:,]\d+)?", "", reason)
