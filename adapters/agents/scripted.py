"""The scripted agent: answers from a scenario (contract §1), the same in every run.

It has no memory: the next entry follows from how often the agent, or the role, was asked before, so a turn that is
asked again after a crash gets the same answer.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from adapters.agents.activity import Activity, Status, Tool
from adapters.agents.attempt import UNKNOWN
from adapters.agents.port import Limits, Reply, Turn
from domain.replies.comments import SCRIPT_WORDS
from domain.session.attempts import Failure
from domain.session.turns import SCRIPTED
from domain.values.base import Invalid, Usage, Value, changed
from domain.values.sentences import Sentence, of_pydantic, sentence_of

DAY_MS = 86_400_000


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError(Sentence("contains_nul"))
    return text


def _not_empty(entries: tuple["ScriptedAnswer", ...]) -> tuple["ScriptedAnswer", ...]:
    if not entries:
        raise ValueError(Sentence("no_entries"))
    return entries


def _spelled_out(entry: object) -> object:
    return {"text": entry} if isinstance(entry, str) else entry


def _as_tuple(value: object) -> object:
    """JSON has no tuples."""
    return tuple(value) if isinstance(value, list) else value


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_without_nul)]
Words = Annotated[str, Field(max_length=4_194_304), AfterValidator(_without_nul)]
FilePath = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(_without_nul)]
ScriptedError = Literal[
    "timeout", "crash", "refused", "rate_limit", "overloaded", "network", "auth", "lost_conversation"
]
DelayMs = Annotated[int, Field(ge=0, le=DAY_MS)]


class ScriptedStep(Activity):
    """Something that the agent does before it answers, this long after the previous step."""

    paths: Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(max_length=50)] = ()
    after_ms: DelayMs = 0

    def seen(self) -> Activity:
        return Activity(**self.model_dump(exclude={"after_ms"}))


class ScriptedUsage(Usage):
    """The cost of the answer, and the model that supposedly gave it."""

    model: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_without_nul)] | None = None

    @cached_property
    def usage(self) -> Usage:
        return Usage(**self.model_dump(exclude={"model"}))


class ScriptedPermission(Value):
    """A permission that the agent asks for."""

    tool: Tool = "execute"
    title: Annotated[str, Field(min_length=1, max_length=16_000), AfterValidator(_without_nul)]
    paths: Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(max_length=50)] = ()


class ScriptedAnswer(Value):
    """One answer, after the steps of its `activity` and its `permission`; without permission, it says `if_denied`
    instead. `error` takes no additional time."""

    text: Words = ""
    files: dict[FilePath, Words] = Field(default_factory=dict, max_length=1_000)
    error: ScriptedError | None = None
    retry_after: Annotated[float, Field(ge=0, le=DAY_MS)] | None = None
    delay_ms: DelayMs | None = None
    activity: Annotated[tuple[ScriptedStep, ...], BeforeValidator(_as_tuple), Field(max_length=1_000)] = ()
    permission: ScriptedPermission | None = None
    if_denied: Words = ""
    usage: ScriptedUsage = ScriptedUsage()


Entries = Annotated[
    tuple[Annotated[ScriptedAnswer, BeforeValidator(_spelled_out)], ...],
    Field(max_length=1_000),
    AfterValidator(_not_empty),
]


class Scenario(Value):
    """The replies of all agents: by agent name or, if it is not there, by role. Lists are used in order, the last entry
    repeats."""

    replies: dict[Name, Entries] = Field(default_factory=dict, max_length=200)
    delay_ms: DelayMs = 0

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, at: str = "") -> "Scenario":
        """The scenario from parsed JSON, without conversions: no "3" for 3. Raises `Invalid`, with pointers below
        `at`."""
        try:
            return cls.model_validate_json(orjson.dumps(data), strict=True)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)[:20]
            raise Invalid({_pointer(at, p["loc"]): of_pydantic(p) for p in problems}) from None
        except orjson.JSONEncodeError as error:
            raise Invalid({at: Sentence("not_json", detail=error)}) from None

    def delay(self, entry: ScriptedAnswer) -> float:
        """Seconds of silence before the answer."""
        return (self.delay_ms if entry.delay_ms is None else entry.delay_ms) / 1_000

    def entry(self, turn: Turn) -> ScriptedAnswer | None:
        """The entry for this turn; None if the scenario has none for the agent or its role.

        Exact spelling takes precedence: an agent "Reviewer" may have the roles reviewer and critic.
        """
        for spelled in (str, str.casefold):
            replies = {spelled(key): entries for key, entries in self.replies.items()}
            for name, ordinal in ((turn.agent, turn.ordinal), (turn.role, turn.role_ordinal)):
                if entries := replies.get(spelled(name)):
                    return entries[min(ordinal, len(entries) - 1)]
        return None


class Scripted:
    """Answers from the turn's inline scenario, otherwise from its own."""

    def __init__(self, scenario: Scenario | None = None) -> None:
        self._scenario = scenario or Scenario()

    async def ask(self, turn: Turn) -> Reply:
        started = time.monotonic()
        try:
            scenario = self._scenario if turn.scenario is None else _inline(turn.scenario)
        except Invalid as error:
            return Reply(agent_session=turn.agent_session, failure=Failure.of("refused", sentence_of(error)))
        entry = scenario.entry(turn) or ScriptedAnswer(text=harmless(turn))
        failure, entry = await _play(entry, scenario.delay(entry), turn)
        failure = failure or _scripted_failure(entry, turn)
        reply = _unsaid(entry, turn, failure) if failure else _reply_of(entry, turn)
        return changed(reply, seconds=time.monotonic() - started)

    async def forget(self, handle: str) -> None:
        """Nothing is kept, so there is nothing to delete."""


@lru_cache(maxsize=16)
def _inline(scenario: str) -> Scenario:
    """A session's own scenario: the same for each of its turns. Raises Invalid."""
    return Scenario.parse(orjson.loads(scenario), at="/scenario")


def forget_scenarios(_: str | None) -> None:
    """Drop the scenarios of sessions: one may quote a text that was taken out."""
    _inline.cache_clear()


def _passed(expected: str) -> dict[str, Any]:
    """`Backend`, or `Backend#s2` for one subtask of several."""
    match = re.fullmatch(r"(.*)#(s\d+)", expected, re.DOTALL)
    named = {"agent": match[1], "subtask": match[2]} if match else {"agent": expected}
    return {**named, "pass": True, "feedback": "ok"}


def harmless(turn: Turn) -> str:
    """The default reply of a role that the scenario leaves out: the session succeeds and nothing blocks (contract
    §1)."""
    match turn.role, turn.reads:
        case _, "text":
            return "ok"
        case _, "subtasks" | "direct_answer":
            return _json({"direct_answer": "ok", "subtasks": []})
        case (_, "verdicts") | ("judge", _):
            verdicts = [_passed(expected) for expected in turn.expects]
            return _json({"verdicts": verdicts, "allDone": False})
        case "reviewer" | "critic", "review":
            return _json({"verdict": "PASS", "summary": "ok", "issues": []})
        case ("reviewer", "debate") | ("critic", _):
            return _json({"verdict": "APPROVE", "concerns": [], "suggestions": []})
        case "reviewer", _:
            return _json({"blockingIssues": [], "nonBlockingIssues": [], "score": 100, "fixPlan": []})
        case _:
            return "ok"


_SCRIPTED_FAILURES: Final[Mapping[str, str]] = {
    "timeout": "scripted_timeout",
    "crash": "scripted_crash",
    "refused": "scripted_refused",
    "rate_limit": "scripted_rate_limit",
    "overloaded": "scripted_overloaded",
    "network": "scripted_network",
    "auth": "scripted_auth",
    "lost_conversation": "scripted_lost_conversation",
}


def _scripted_failure(entry: ScriptedAnswer, turn: Turn) -> Failure | None:
    if entry.error is None:
        return None
    why = Sentence(_SCRIPTED_FAILURES[entry.error], agent=turn.agent)
    return Failure.of(entry.error, why, retry_after=entry.retry_after)


def _unsaid(entry: ScriptedAnswer, turn: Turn, failure: Failure) -> Reply:
    """A scripted failure may have said something before it; one that came too late has not."""
    answer = entry if entry.error else ScriptedAnswer()
    usage = answer.usage
    handle = turn.agent_session
    return Reply(answer.text, usage.usage, agent_session=handle, failure=failure, model=usage.model)


def _reply_of(entry: ScriptedAnswer, turn: Turn) -> Reply:
    usage, model = entry.usage.usage, entry.usage.model
    words = _with_answers(entry.text, turn)
    encoded = words.encode()
    limit = turn.limits.output_bytes
    if len(encoded) > limit:
        failure = Failure.of("limit", Sentence("answer_too_long", number=limit))
        head = encoded[:limit].decode(errors="ignore")
        session = turn.agent_session
        return Reply(head, usage, agent_session=session, failure=failure, truncated=True, model=model)
    earlier = turn.agent_session or ""  # of an agent of this name that was a program before, it would not tell
    handle = earlier if earlier.startswith(SCRIPTED) else f"{SCRIPTED}{turn.agent}"
    return Reply(words, usage, entry.files, handle, model=model)


def _with_answers(text: str, turn: Turn) -> str:
    """Returns the text, with an answer to each comment of a person if it says nothing about comments itself: a script
    cannot know of them."""
    if not turn.comments or '"comments"' in text:
        return text
    answers = [{"id": name, "answer": "answered", "words": SCRIPT_WORDS} for name in turn.comments]
    return f"{text}\n\n```json\n{_json({'comments': answers})}\n```"


async def _play(entry: ScriptedAnswer, seconds: float, turn: Turn) -> tuple[Failure | None, ScriptedAnswer]:
    """The steps, then silence until that much time has passed, and then the reply; or the failure, if a limit of the
    turn is reached first. Waiting for permission does not count."""
    spent, used = 0.0, entry.usage.usage
    if turn.observe is not None and used != UNKNOWN:
        turn.observe(Activity(kind="usage", id="usage", usage=used))
    for step in entry.activity:
        if failure := await _wait(step.after_ms / 1_000, turn.limits, spent=spent):
            return failure, entry
        spent += step.after_ms / 1_000
        _do(step.seen(), turn)
    if entry.permission is not None and not await _may(entry.permission, turn):
        entry = entry.changed(text=entry.if_denied, files={})
    if entry.error:
        return None, entry
    return await _wait(max(0.0, seconds - spent), turn.limits, spent=spent), entry


async def _may(use: ScriptedPermission, turn: Turn) -> bool:
    """True if the tool may be used; if so, it is used."""
    decision = await turn.permit(use.tool, use.title, use.paths)
    status: Status = "completed" if decision == "allow" else "denied"
    _do(Activity(kind="tool", tool=use.tool, title=use.title, paths=use.paths, status=status), turn)
    return decision == "allow"


def _do(seen: Activity, turn: Turn) -> None:
    if turn.observe is not None:
        turn.observe(seen)
    if turn.transcribe is not None:
        turn.transcribe(seen.model_dump_json(by_alias=True, exclude_none=True))


async def _wait(seconds: float, limits: Limits, *, spent: float) -> Failure | None:
    """Silence for this long, after the time already spent; or the failure, if a limit of the turn is reached first."""
    idle = float("inf") if limits.idle_seconds is None else limits.idle_seconds
    left = limits.wall_seconds - spent
    bound = min(left, idle)
    await asyncio.sleep(max(0.0, min(seconds, bound)))
    if seconds <= bound:
        return None
    if idle < left:
        return Failure.of("idle", Sentence("no_word_for", number=idle))
    return Failure.of("timeout", Sentence("no_answer_within", number=limits.wall_seconds))


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _pointer(at: str, loc: tuple[int | str, ...]) -> str:
    """Of a name that is wrong pydantic adds that it is one; its entry ends before."""
    loc = loc[:-1] if loc[-1:] == ("[key]",) else loc
    return at + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in loc)
