"""A review or a debate in words: rounds, convergence, feedback, synthesis, decision."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from api.cli.exits import worded
from api.cli.labels import name_of, recorded, sentence, verdict
from api.cli.tables import columns, shortened
from api.cli.terminal import counted, local_time
from domain.provenance.patches import line_counts

if TYPE_CHECKING:
    from api.cli.answers import ApprovalView, DecisionCommentView, Metrics, RoundView, Session, VoteView, WaitingItem

Pairs = list[tuple[str, str]]
Told = Mapping[str, Any]
"""What an agent has answered, in its own JSON."""

_SEVERITIES: Final = ("critical", "major", "minor")
_FOLDED: Final = 80
"""Cells of a terminal that a folded round's first words may take."""
_LONG: Final = 2_000
"""Cells that one issue or concern may take."""
_VERDICT_AT_THE_END: Final = re.compile(r"(?:```(?:json)?\s*)?\{[^{}]*\}\s*(?:```)?\s*\Z")
_LISTS: Final = (
    ("concerns", "concern"),
    ("securityRisks", "security risk"),
    ("edgeCases", "edge case"),
    ("scalabilityConcerns", "scalability"),
    ("maintenanceBurden", "maintenance"),
    ("unexaminedAssumptions", "assumption"),
    ("missingConsiderations", "missing"),
    ("pointsOfDisagreement", "disagreement"),
    ("suggestions", "suggestion"),
)


def plan_in(subject: str) -> str:
    """The request, and a line for each subtask, of a text that contains a planner's plan; empty if it contains none."""
    request, _, answer = subject.partition("\n\nPlan:\n")
    start = answer.find("{")
    try:
        plan, _ = json.JSONDecoder().raw_decode(answer, max(0, start))
    except ValueError:
        return ""
    subtasks = plan.get("subtasks") if isinstance(plan, dict) else None
    if not isinstance(subtasks, list) or not all(isinstance(each, dict) for each in subtasks):
        return ""
    head = shortened(request.removeprefix("Request:\n"), _LONG)
    return "\n".join([head, columns([_planned(each) for each in subtasks])])


def changes_in(subject: str) -> str:
    """A line for each file of a text that ends with changes: what was added and removed, or that the file is binary.
    Empty if it has none."""
    _, _, patch = subject.partition("\n\nChanges:\n")
    if not patch:
        _, _, patch = subject.partition("\n\nChanges in this iteration:\n")
    return columns(
        [path, sentence("binary") if lines is None else f"+{lines[0]} -{lines[1]}"]
        for path, lines in line_counts(patch).items()
    )


def _planned(subtask: Mapping[str, object]) -> list[str]:
    phases = list(dict.fromkeys(str(subtask.get(name, "?")) for name in ("start_phase", "end_phase")))
    name = "phase {phases}" if len(phases) == 1 else "phases {phases}"
    more = [sentence("in parallel")] if subtask.get("parallel") is True else []
    more += [sentence("then a checkpoint")] if subtask.get("checkpoint") is True else []
    words = [
        str(subtask.get("agent", "?")),
        str(subtask.get("role", "")),
        ", ".join([sentence(name, phases="-".join(phases)), *more]),
    ]
    return [*(shortened(word, _FOLDED) for word in words), shortened(str(subtask.get("task", "")), _FOLDED)]


def result(session: "Session") -> Pairs:
    """The material for a person's decision: the rounds in short, how near they came, the feedback, the synthesis."""
    return [
        ("rounds", columns(_folded(entry) for entry in session["rounds"])),
        ("agreed", agreed(session)),
        ("stopped", stopped(session)),
        ("convergence", _assessed(session["convergence"]) if session["convergence"] else ""),
        ("feedback", feedback(session)),
        ("dissent", _dissent(session)),
        ("synthesis", synthesis(session)),
        ("decision", decision(session)),
        ("approval", approval(session)),
        ("seen", str(session.get("seen") or "") if session.get("approval") else ""),
    ]


def in_full(session: "Session") -> Pairs:
    """The same with every round's words, and the convergence after each."""
    folded = dict(result(session))
    spelt = "\n\n".join(_spelt(entry) for entry in session["rounds"])
    return list((folded | {"rounds": spelt, "convergence": convergence(session)}).items())


_AGREES: Final = frozenset({"PASS", "APPROVE"})


def agreed(session: "Session") -> str:
    """Says whether those who judged agree, and what each of them says in the newest round in which they judged."""
    newest = {
        _speaker(entry): str(entry["feedback"]["verdict"])
        for entry in session["rounds"]
        if (entry["feedback"] or {}).get("verdict")
    }
    if not newest:
        return ""
    words = ", ".join(f"{agent} {verdict(name)}" for agent, name in newest.items())
    return sentence("yes: {words}" if _AGREES.issuperset(newest.values()) else "no: {words}", words=words)


def stopped(session: "Session") -> str:
    """Says why the talk ended, and after how many rounds."""
    reason = session["stopReason"]
    if not reason:
        return ""
    why = sentence(_WHY_STOPPED[reason]) if reason in _WHY_STOPPED else reason
    return sentence("after {rounds}: {why}", rounds=counted(len(session["rounds"]), "round"), why=why)


_WHY_STOPPED: Final = {
    "converged": "they agree",
    "stalled": "nothing improves any more",
    "limit": "the rounds are used up",
    "error": "an agent failed",
    "cancelled": "it was cancelled",
}


def convergence(session: "Session") -> str:
    """A line for each round."""
    rows = [
        [
            sentence("round {n}", n=number),
            *(f"{share:.2f}" for share in _shares(metrics)),
            recorded("session_recommendation", str(metrics["recommendation"])),
        ]
        for number, metrics in enumerate(session["convergenceHistory"], 1)
    ]
    return columns([["", *(sentence(share) for share in _SHARES), ""], *rows]) if rows else ""


_SHARES: Final = ("agreement", "stability", "score")


def _shares(metrics: "Metrics") -> tuple[float, float, float]:
    return metrics["agreementRatio"], metrics["avgStability"], metrics["overallScore"]


def feedback(session: "Session") -> str:
    """The verdict, the issues with the worst first, and whatever else was brought up."""
    answer: Told = session["feedback"] or {}
    if not answer:
        return ""
    head = _concluded(answer)
    return "\n".join(filter(None, [head, *_issues(answer), *_others(answer), _fault(answer, session["rounds"])]))


def synthesis(session: "Session") -> str:
    """Its words, and in the place of the JSON at their end what that says."""
    summary = session["synthesis"]
    if not summary:
        return ""
    if summary["fallback"]:
        return f"({sentence('The synthesis failed; these are the rounds themselves.')})\n{summary['text'].rstrip()}"
    if not summary["counts"]:
        return str(summary["text"]).rstrip()
    return f"{_VERDICT_AT_THE_END.sub('', summary['text']).rstrip()}\n{_counted(summary['counts'])}".strip()


def decision(session: "Session") -> str:
    choice = session["decision"]
    if not choice:
        return ""
    named, why = recorded("choice", choice["choice"]), f": {choice['rationale']}" if choice["rationale"] else ""
    by = sentence("{choice} by {actor}", choice=named, actor=name_of(choice["actor"]) or sentence("someone"))
    if choice.get("expired"):
        by = sentence("{choice} by default: no decision in time", choice=named)
    votes = f"\n{columns(_vote(vote) for vote in choice['votes'])}" if choice.get("votes") else ""
    remarks = "".join(f"\n{_remark(each)}" for each in choice.get("comments", ()))
    return f"{by}, {local_time(choice['at'])}{why}{votes}{remarks}"


def _remark(comment: "DecisionCommentView") -> str:
    """`src/shop.py:12-14: Name this.`"""
    path, line, end = comment["path"], comment["line"], comment["endLine"]
    lines = "" if line is None else f":{line}" if end in (None, line) else f":{line}-{end}"
    return f"{path}{lines}: {comment['text']}" if path else comment["text"]


def approval(item: "Session | WaitingItem") -> str:
    """The deciders, the votes so far, and what is missing, where the team file says how decisions are made."""
    policy = item.get("approval")
    if not policy:
        return ""
    lines = [sentence("by {names}", names=", ".join(policy["who"])) if policy["who"] else ""]
    if policy["notAuthor"]:
        lines.append(sentence("not by {names}, who started it", names=", ".join(map(name_of, policy["authors"]))))
    return "\n".join(filter(None, [*lines, *(" ".join(_vote(vote)) for vote in policy["votes"]), progress(policy)]))


def progress(policy: "ApprovalView") -> str:
    """`skip: 1 of 2 votes`"""
    if policy["approvers"] == 1:
        return ""
    votes_by_choice = {choice: policy["approvers"] - more for choice, more in policy["missing"].items()}
    every = policy["approvers"]
    return ", ".join(
        sentence("{choice}: {votes} of {every} votes", choice=recorded("choice", choice), votes=votes, every=every)
        for choice, votes in votes_by_choice.items()
    )


def _vote(vote: "VoteView") -> list[str]:
    why = f": {vote['rationale']}" if vote["rationale"] else ""
    voted = sentence("{actor} voted {choice}", actor=name_of(vote["actor"]), choice=recorded("choice", vote["choice"]))
    return [f"{voted}{why}", local_time(vote["at"])]


def _counted(counts: Told) -> str:
    """`needs a fix: mostly agreed (resolved 1, remaining 2)`"""
    numbers = [f"{_counted_name(name)} {number}" for name, number in counts.items() if name.endswith("Count")]
    return f"{_concluded(counts)} ({', '.join(numbers)})"


def _concluded(answer: Told) -> str:
    """`needs a fix: mostly agreed`"""
    words = (verdict(str(answer.get("verdict") or "")), str(answer.get("summary") or ""))
    return ": ".join(filter(None, words))


def _counted_name(name: str) -> str:
    word = name.removesuffix("Count")
    return recorded("counted", word)


def _dissent(session: "Session") -> str:
    """The points that were never agreed and are not in the feedback already."""
    shown = feedback(session)
    claims = [shortened(str(claim), _LONG) for claim in session["dissent"]]
    return "\n".join(f"- {claim}" for claim in claims if claim not in shown)


def _folded(entry: "RoundView") -> list[str]:
    concluded = verdict(str((entry["feedback"] or {}).get("verdict") or ""))
    judged = concluded or (sentence("unreadable") if entry["problem"] else "")
    issues = len((entry["feedback"] or {}).get("issues") or ())
    verdict_text = f"{judged}, {counted(issues, 'issue')}" if issues else judged
    return [
        str(entry["round"]),
        recorded("role", str(entry["role"])),
        _speaker(entry),
        verdict_text,
        shortened(_opening(entry), _FOLDED),
    ]


def _speaker(entry: "RoundView") -> str:
    """The agent, or the person who answered for it."""
    return sentence("a person, for {agent}", agent=entry["agent"]) if entry["standIn"] else entry["agent"]


def _opening(entry: "RoundView") -> str:
    """The first line that is not a heading or code."""
    lines = [line.strip() for line in entry["content"].splitlines() if line.strip()]
    return next((line for line in lines if line[0] not in "#{`"), "")


def _spelt(entry: "RoundView") -> str:
    whole = len(entry["content"].encode()) >= entry["length"]
    cut = "" if whole else f"\n({sentence('cut; the worklog has more')})"
    problem = f"\n({worded(entry, 'problem')})" if entry["problem"] else ""
    head = sentence(
        "Round {n}: {role} by {agent}", n=entry["round"], role=recorded("role", entry["role"]), agent=_speaker(entry)
    )
    return f"[{head}]\n{entry['content'].rstrip()}{cut}{problem}"


def _assessed(metrics: "Metrics") -> str:
    shares = [f"{sentence(word)} {share:.2f}" for word, share in zip(_SHARES, _shares(metrics), strict=True)]
    return ", ".join([*shares, sentence("profile {profile}", profile=metrics["profile"])])


def _issues(answer: Told) -> Iterator[str]:
    issues = [issue for issue in answer.get("issues") or () if isinstance(issue, dict)]
    for issue in sorted(issues, key=_rank):
        suggestion = f" → {issue['suggestion']}" if issue.get("suggestion") else ""
        severity = recorded("severity", str(issue.get("severity")))
        yield f"[{severity}] {shortened(str(issue.get('description')) + suggestion, _LONG)}"


def _rank(issue: Told) -> int:
    severity = issue.get("severity")
    return _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES)


def _others(answer: Told) -> Iterator[str]:
    for name, word in _LISTS:
        for entry in answer.get(name) or ():
            yield f"[{sentence(word)}] {shortened(_words(entry), _LONG)}"


def _words(entry: object) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    names = ("severity", "claim", "description", "explanation", "alternative")
    return ": ".join(str(entry[name]) for name in names if entry.get(name))


def _fault(answer: Told, rounds: "list[RoundView]") -> str:
    """Says why there is no better feedback than this; the round it came from has that as data."""
    problem = answer.get("problem")
    if not problem:
        return ""
    of_round = next((entry for entry in rounds if entry["problem"] == problem), None)
    return f"({worded(of_round or {'problem': problem}, 'problem')})"
