"""Shows people what programs write for programs: the report of a validation command by command, JSON in lines."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from api.web.plain_text import cut
from api.web.session.context import SENTENCE

RUNS: Final = 20
OUTPUT: Final = 12_000
"""Characters of all that the commands of a report said, in equal shares."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_BAD: Final = re.compile(
    r"^\s*(?:E\s{2,}|FAILED\b|ERROR\b|Error:|error(?:\[\w+\])?:|Traceback |panic:|fatal:|✕|✗|not ok\b)"
    r"|\b\w+(?:Error|Exception): "
)


class _Run(BaseModel):
    """A command as the report has it; `detail` says how it ended where its exit code does not."""

    model_config = ConfigDict(strict=True, alias_generator=to_camel)

    stage: str
    command: str
    exit_code: int
    seconds: float
    ended: str
    detail: str
    stdout: str
    stderr: str


class _Service(BaseModel):
    """A service that ran beside the commands."""

    model_config = ConfigDict(strict=True, alias_generator=to_camel)

    name: str
    command: str
    ready: bool
    seconds: float
    detail: str
    output: str


class _Report(BaseModel):
    model_config = ConfigDict(strict=True)

    passed: bool
    summary: str
    runs: tuple[_Run, ...]
    services: tuple[_Service, ...] = ()


class RunShown(NamedTuple):
    """A command of a validation; the `nth` of `times` that it was run. `output` has the streams that are not empty."""

    stage: str
    command: str
    passed: bool
    exit_code: int | None
    seconds: float
    detail: str
    output: Sequence[tuple[str, str]]
    nth: int
    times: int


class ServiceShown(NamedTuple):
    """A service of a validation; the `nth` of `times` with the same name and command."""

    name: str
    command: str
    ready: bool
    seconds: float
    detail: str
    output: str
    nth: int
    times: int


class ReportShown(NamedTuple):
    """A validation: its commands and services, each with the end of what it said."""

    passed: bool
    summary: str
    runs: Sequence[RunShown]
    services: Sequence[ServiceShown]
    more: int
    cut: bool


def report(content: str) -> ReportShown | None:
    """The commands of a validation, each with the end of what it said; None where the text is no such report."""
    try:
        parsed = _Report.model_validate_json(content)
    except ValidationError:
        return None
    runs = parsed.runs[:RUNS]
    services = parsed.services[:RUNS]
    outputs = [words for run in runs for words in (run.stdout, run.stderr) if words]
    outputs += [service.output for service in services if service.output]
    share = OUTPUT // max(1, len(outputs))
    return ReportShown(
        passed=parsed.passed,
        summary=cut(parsed.summary, SENTENCE),
        runs=[_run(run, share, *nth) for run, nth in zip(runs, _numbered(runs), strict=True)],
        services=[_service(each, share, *nth) for each, nth in zip(services, _numbered(services), strict=True)],
        more=len(parsed.runs) - len(runs),
        cut=any(len(words) > share for words in outputs),
    )


def _numbered(ran: Sequence[_Run | _Service]) -> Iterator[tuple[int, int]]:
    """Returns which run it is of how many, where the same was run several times."""
    keys = [(each.stage if isinstance(each, _Run) else each.name, each.command) for each in ran]
    counts, seen = Counter(keys), Counter[tuple[str, str]]()
    for key in keys:
        seen[key] += 1
        yield seen[key], counts[key]


def printed(content: str) -> str:
    """A validation's report as a terminal would have shown it, whole; "" where the text is no such report."""
    try:
        parsed = _Report.model_validate_json(content)
    except ValidationError:
        return ""
    return "\n".join((*map(_printed, parsed.runs), *map(_printed_service, parsed.services)))


def _printed(run: _Run) -> str:
    ended = f"[{run.stage}] exit {run.exit_code} · {run.seconds:.1f} s {run.detail}".rstrip()
    parts = (f"$ {run.command}", run.stdout.rstrip("\n"), run.stderr.rstrip("\n"), ended)
    return "\n".join(part for part in parts if part) + "\n"


def _printed_service(service: _Service) -> str:
    ended = f"[service {service.name}] {service.seconds:.1f} s {service.detail}".rstrip()
    parts = (f"$ {service.command}", service.output.rstrip("\n"), ended)
    return "\n".join(part for part in parts if part) + "\n"


def _service(service: _Service, share: int, nth: int, times: int) -> ServiceShown:
    return ServiceShown(
        name=service.name,
        command=cut(service.command, SENTENCE),
        ready=service.ready,
        seconds=service.seconds,
        detail=cut(service.detail, SENTENCE),
        output=_end(service.output, share),
        nth=nth,
        times=times,
    )


def _run(run: _Run, share: int, nth: int, times: int) -> RunShown:
    exited = run.ended == "exited"
    streams = (("stdout", run.stdout), ("stderr", run.stderr))
    return RunShown(
        stage=run.stage,
        command=cut(run.command, SENTENCE),
        passed=exited and run.exit_code == 0,
        exit_code=run.exit_code if exited else None,
        seconds=run.seconds,
        detail=cut(run.detail, SENTENCE),
        output=[(name, _end(words, share)) for name, words in streams if words],
        nth=nth,
        times=times,
    )


def _end(words: str, limit: int) -> str:
    """The error is at the end."""
    return words if len(words) <= limit else f"…{words[-limit:]}"


def in_lines(content: str) -> str:
    """JSON as people read it; anything else as it is."""
    try:
        return orjson.dumps(orjson.loads(content), option=orjson.OPT_INDENT_2).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return content


def looks_bad(line: str) -> bool:
    """True if a line of an output looks like an error."""
    return bool(_BAD.search(line))


def uncoloured(text: str) -> str:
    """An output without the colours of a terminal."""
    return _COLOURS.sub("", text)
