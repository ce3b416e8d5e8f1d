"""The placeholders of an event's sentence, and their values."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from domain.values.base import milliseconds
from domain.values.sentences import SentenceData, in_language, of_data, recognized
from domain.values.words import Words

_DETAIL: Final = 300
"""Characters of a person's or an agent's text that a sentence quotes."""
_FILES: Final = 3
"""Changed files that a sentence names."""
_FAILING: Final = re.compile(
    r"^(?:E\s+\S|FAILED\b|ERROR\b|error\b|.*(?:Error|Exception)\b|.*\bnot found\b)", re.MULTILINE
)
"""The marks with which the output of a failing command usually gives the reason."""
_AMOUNTS: Final = ("addIterations", "addMinutes", "addTokens", "addCostMicros")
Data = Mapping[str, Any]


class Places(dict[str, object]):
    """The values of the placeholders: computed ones by name, otherwise the fields of the event."""

    def __init__(self, say: Words, data: Data, agents: Sequence[str], doer: str = "") -> None:
        super().__init__()
        self.say, self.data, self.agents, self.doer = say, data, agents, doer

    def __missing__(self, name: str) -> object:
        return _COMPUTED[name](self) if name in _COMPUTED else _one_line(self.data.get(name, ""))

    def worded(self, text: str, sentence: SentenceData | None) -> str:
        """A recorded text, in the reader's language where it is a sentence of Hansard."""
        return in_language(of_data(sentence) if sentence else recognized(text), self.say.language)

    def step(self, phase: object) -> str:
        """A phase by name: `planning`, or `phase 3 (development)`."""
        named = self.say.of("step", str(phase))
        return named if named != str(phase) else self.say.of("phase", str(phase))

    def agent(self, index: int) -> str:
        if index < len(self.agents):
            return self.agents[index]
        return self.say.fill("agent_number", {"n": index + 1})


def _took(places: Places) -> str:
    return places.say.fill("seconds", {"n": f"{float(places.data.get('seconds') or 0):.1f}"})


def _elapsed(places: Places) -> str:
    return clock_time(int(places.data.get("elapsedMs") or 0))


def _away(places: Places) -> str:
    times = [milliseconds(str(places.data[name])) for name in ("from", "to") if name in places.data]
    return clock_time(times[-1] - times[0]) if times else ""


def clock_time(ms: int) -> str:
    """Returns `12:05`, or `1:12:05`."""
    minutes, seconds = divmod(ms // 1000, 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours}:{rest:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _files(places: Places) -> str:
    files = [str(name) for name in places.data.get("files") or ()]
    named = ", ".join(files[:_FILES]) + (", …" if len(files) > _FILES else "")
    return places.say.fill("changed_files", {"files": named}) if files else ""


def _failure(places: Places) -> str:
    return places.say.of("failure", str((places.data.get("failure") or {}).get("code", "crash")))


def _cause(places: Places) -> str:
    """Says why a turn failed: Hansard's own sentence says all, a program's text follows the kind of failure."""
    failure = places.data.get("failure") or {}
    sentence = failure.get("sentence")
    return (
        _one_line(places.worded(str(failure["detail"]), sentence))
        if sentence
        else f"{_failure(places)}{_detail(places)}"
    )


def _cause_within(places: Places) -> str:
    """The same where the sentence goes on."""
    return _cause(places).rstrip(".")


def _detail(places: Places) -> str:
    """`: …`, the reason, if the event has one."""
    return _after_colon(_why_it_failed(places))


def _why_it_failed(places: Places) -> str:
    data = places.data
    if data.get("blockingIssues"):
        return _issues(places, [str(issue.get("title", "")) for issue in data["blockingIssues"]])
    if data.get("cause") == "only_passes_with_leftovers":
        return places.worded("", data.get("sentence"))
    if data.get("reasons"):
        reasons, sentences = data["reasons"][:_FILES], data.get("sentences") or ()
        if reasons == [(data.get("sentence") or {}).get("text")]:  # the command said nothing, only how it ended
            sentences = (data["sentence"],)
        return "; ".join(places.worded(*each) for each in zip_longest(reasons, sentences[:_FILES]))
    if data.get("summary") and "classification" in data:
        sentence, output = data.get("sentence"), str(data["summary"])
        line = failing_line(output.partition("\n")[2] if sentence else output)
        return line or places.worded("", sentence)
    if isinstance(data.get("issues"), str) and data["issues"]:
        return str(data["issues"].partition("\n")[2].partition("\n")[0]).lstrip("- ")
    if data.get("feedback") and isinstance(data["feedback"], dict) and data["feedback"].get("verdict"):
        return places.say.of("verdict", str(data["feedback"]["verdict"]))
    names = ("errorMessage", "problem", "error")
    failure = data.get("failure") or {"detail": ""}
    if text := next((data[name] for name in names if data.get(name)), ""):
        return places.worded(str(text), data.get("sentence"))
    return places.worded(str(failure["detail"]), failure.get("sentence"))


def failing_line(output: str) -> str:
    """The first line of a command's output that gives a reason, otherwise its last line."""
    match = _FAILING.search(output)
    lines = [line for line in output.splitlines() if line.strip()]
    return output[match.start() :].partition("\n")[0] if match else lines[-1] if lines else ""


def _problem(places: Places) -> str:
    return _after_colon(places.worded(str(places.data.get("problem") or ""), places.data.get("sentence")))


def _at_lines(places: Places) -> str:
    """`src/shop.py:12-14`"""
    path, line, end = (places.data.get(name) for name in ("path", "line", "endLine"))
    return f"{_one_line(path)}:{line}" + (f"-{end}" if end not in (None, line) else "")


def _issues(places: Places, titles: Sequence[str]) -> str:
    if len(titles) < 2:
        return "".join(titles)
    return places.say.fill("and_more_issues", {"first": titles[0], "n": len(titles) - 1})


def _first(places: Places) -> str:
    """The first issue of a review that requests a fix."""
    issues = (places.data.get("feedback") or {}).get("issues") or ()
    if places.data.get("choice") not in ("apply_fix", "revise") or not issues:
        return ""
    return _after_colon(_issues(places, [str(issue.get("description", "")) for issue in issues]))


def _why(places: Places) -> str:
    """A person's reason, or why a turn was cancelled."""
    data = places.data
    if "turnId" in data:
        return places.say.of("turn_end", str(data.get("reason", "")))
    reason = next((data[name] for name in ("why", "rationale", "reason") if data.get(name)), "")
    return _after_colon(places.worded(str(reason), None))


def _reason(places: Places) -> str:
    """The reason that a person gave for asking a turn again."""
    return _after_colon(places.data.get("reason"))


def _cancelled(places: Places) -> str:
    """Says why a person cancelled a delivery."""
    sentence = places.data.get("sentence")
    return _after_colon(sentence["params"]["detail"]) if sentence else ""


def _wanted_words(places: Places) -> str:
    """Returns what a person wants changed: the words, or how many comments."""
    words, comments = (places.data.get("text") or {}).get("head"), places.data.get("comments") or ()
    if words or not comments:
        return _after_colon(words or "")
    count = places.say.fill(f"asked_comments.{'one' if len(comments) == 1 else 'many'}", {"n": len(comments)})
    return _after_colon(count)


def _amounts(places: Places) -> str:
    """`2 iterations, 10 minutes`"""
    amounts = ((name, int(places.data.get(name) or 0)) for name in _AMOUNTS)
    return ", ".join(_amount(places.say, name, number) for name, number in amounts if number)


def _amount(say: Words, name: str, number: int) -> str:
    shown = f"{number / 1_000_000:.2f}" if name == "addCostMicros" else f"{number:,}"
    return say.fill(f"amount_of.{name}.{'one' if number == 1 else 'many'}", {"n": shown})


def _subject(places: Places) -> str:
    about = str(places.data.get("about", ""))
    if not about.startswith("agent:"):
        return places.say.of("subject", about)
    place, authors = about.removeprefix("agent:"), (places.data.get("topic") or {}).get("authors")
    agent = authors[0] if authors else places.agent(int(place) if place.isdecimal() else 0)
    return places.say.fill("subject.agent", {"agent": _one_line(agent)})


def _agents(places: Places) -> str:
    """Returns who works: the agents of a round with their phases, those of a plan by name."""
    if "agentPhases" not in places.data:
        return ", ".join(_one_line(agent.get("agent")) for agent in places.data.get("agents") or ())
    at_work = [entry for entry in places.data["agentPhases"] or () if not entry.get("completed")]
    return ", ".join(f"{_one_line(entry.get('agent'))} – {places.step(entry.get('phase'))}" for entry in at_work)


def _choices(places: Places) -> str:
    names = [places.say.of("choice", str(choice)) for choice in places.data.get("choices") or ()]
    return f" {places.say('or')} ".join(names)


def _metric(name: str) -> Callable[[Places], str]:
    return lambda places: f"{float((places.data.get('metrics') or {}).get(name) or 0):.2f}"


def _score(places: Places) -> str:
    """The score of a review from 0 to 100, if there is one; for a discussion, the score of convergence."""
    if "metrics" in places.data or "score" not in places.data:
        return _metric("overallScore")(places)
    score = places.data["score"]
    return "" if score is None else places.say.fill("review_score", {"n": score})


def _named(group: str, field: str = "") -> Callable[[Places], str]:
    return lambda places: places.say.of(group, str(places.data.get(field or group, "")))


def _failed_checks(places: Places) -> str:
    checks = places.data.get("checks") or ()
    return _one_line(", ".join(str(each.get("name")) for each in checks if each.get("conclusion") == "failure"))


def _rounds(places: Places) -> str:
    return str((places.data.get("topic") or {}).get("maxRounds", "?"))


def _strategy(places: Places) -> str:
    return places.say.of("strategy", str((places.data.get("topic") or {}).get("strategy", "")))


def _step(places: Places) -> str:
    return places.step(places.data.get("phase") or "")


def _remedy(places: Places) -> str:
    """Returns what to do about what the failed commands lack, each once."""
    remedies = [str(each["remedy"]) for each in places.data["commands"] if each.get("remedy")]
    return "".join(f". {remedy}" for remedy in dict.fromkeys(remedies))


def _after_colon(text: object) -> str:
    line = _one_line(text)
    return f": {line}" if line else ""


def _one_line(value: object) -> str:
    text = " ".join(str(value if value is not None else "").split())
    return text if len(text) <= _DETAIL else f"{text[:_DETAIL]}…"


_COMPUTED: Final[Mapping[str, Callable[[Places], str]]] = {
    "took": _took,
    "actor": lambda places: str(places.data.get("actor") or "").removeprefix("person:"),
    "deadline": lambda places: f"{str(places.data.get('deadline') or '')[:16].replace('T', ' ')} UTC",
    "red": lambda places: ", ".join(f"`{each['command']}`" for each in places.data["commands"] if not each["passed"]),
    "remedy": _remedy,
    "person": lambda places: str(places.data.get("by") or "").removeprefix("person:"),
    "at_lines": _at_lines,
    "said": lambda places: _after_colon(places.data.get("words")),
    "left": lambda places: ", ".join(map(str, places.data.get("comments") or ())),
    "retry": lambda places: f"{str(places.data.get('retryAt') or '')[11:19]} UTC",
    "fallback": lambda places: str(places.data.get("fallbackAgent") or ""),
    "remembered": lambda places: places.say("remembered") if places.data.get("remember") else "",
    "elapsed": _elapsed,
    "away": _away,
    "files": _files,
    "reasons": lambda places: _after_colon("; ".join(map(str, (places.data.get("reasons") or ())[:_FILES]))),
    "paths": lambda places: _one_line(", ".join(map(str, places.data.get("paths") or ()))),
    "short": lambda places: str(places.data.get("head") or places.data.get("commit") or "")[:10],
    "failed_checks": _failed_checks,
    "rest": lambda places: places.say.of("rest", str(places.data.get("why") or "")),
    "forge_why": lambda places: _one_line(places.data.get("why")),
    "cause": _cause,
    "cause_within": _cause_within,
    "failure": _failure,
    "detail": _detail,
    "obstacle": lambda places: _one_line(
        places.worded(str(places.data.get("detail") or ""), places.data.get("sentence"))
    ),
    "problem": _problem,
    "feedback": lambda places: _after_colon(places.worded(str(places.data.get("feedback") or ""), None)),
    "error": lambda places: places.say.of("failure", str(places.data.get("errorType", ""))),
    "classification": _named("classification"),
    "used": lambda places: str(max(0, int(places.data.get("iteration") or 1) - 1)),
    "outcome": _cancelled,
    "first": _first,
    "why": _why,
    "because": _reason,
    "doer": lambda places: _one_line(places.doer),
    "amounts": _amounts,
    "asker": lambda places: str(places.data.get("by") or "").rpartition(":")[2] or places.say("a_person"),
    "asked": _wanted_words,
    "subject": _subject,
    "agents": _agents,
    "choice": _named("choice"),
    "choices": _choices,
    "role": _named("role"),
    "status": _named("status"),
    "stopped": _named("reason"),
    "stop": lambda places: places.say.of("reason", str(places.data.get("code", ""))),
    "score": _score,
    "agreement": _metric("agreementRatio"),
    "stability": _metric("avgStability"),
    "rounds": _rounds,
    "strategy": _strategy,
    "step": _step,
    "Step": lambda places: _step(places)[:1].upper() + _step(places)[1:],
}
