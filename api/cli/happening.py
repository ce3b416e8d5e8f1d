"""What happened, in a few words that fit on a line: an event as people are told of it."""

from typing import Any

from api.cli.client import Json

_VERDICTS = {True: "PASS", False: "FAIL"}


def describe(event: Json) -> str:
    """The event's own message, or more where its data say more."""
    data = event["data"]
    group, _, last = event["type"].rpartition(".")
    tellers = {"turn": _turn, "session": _session, "orchestration": _run, "review": _talk, "debate": _talk}
    told = tellers[group](last, data) if group in tellers else ""
    return told or str(data.get("message") or event["type"])


def _turn(last: str, data: Json) -> str:
    agent = data.get("agent") or "somebody"
    match last:
        case "requested":
            asked = {
                "validate": "the validation commands run",
                "package": "the work is handed over",
                "wait": f"the decision may be made until {data.get('deadline')}",
            }
            return asked.get(str(data.get("work")), f"{agent} is asked")
        case "answered":
            return f"{agent} answered{_took(data)}"
        case "failed":
            failure = data.get("failure") or {}
            return f"{agent} failed: {failure.get('code')}. {failure.get('detail', '')}"
        case "cancelled":
            return f"{agent} is no longer asked: {data.get('reason')}"
        case _:
            return ""


def _session(last: str, data: Json) -> str:
    if last == "agent_sessions_cleared":
        return f"The agents' conversations end: {data.get('reason')}."
    return ""


def _run(last: str, data: Json) -> str:
    """Of an orchestration: who is in which phase, and what was judged."""
    match last:
        case "round_start":
            at_work = [agent for agent in data.get("agentPhases") or () if not agent.get("completed")]
            who = ", ".join(f"{agent.get('agent')} in phase {agent.get('phase')}" for agent in at_work)
            return f"Round {data.get('round')}: {who}."
        case "plan_refused":
            return f"{data.get('message')} {'; '.join(map(str, data.get('reasons') or ()))}"
        case "verdict_given":
            verdict = _VERDICTS.get(data.get("pass", False), "FAIL")
            feedback = f": {data['feedback']}" if data.get("feedback") else ""
            return f"{verdict} {data.get('agent')} in phase {data.get('phase')}{feedback}"
        case "checkpoint_reached" | "completed":
            return _with_head(data, "summary")
        case _:
            return ""


def _talk(last: str, data: Json) -> str:
    """Of a review or a debate: who said what to which verdict, and how near they are."""
    match last:
        case "round_added":
            verdict = (data.get("feedback") or {}).get("verdict")
            read = f" {verdict}" if verdict else f" {data['problem']}" if data.get("problem") else ""
            return f"Round {data.get('round')}, {data.get('role')} by {data.get('agent')}:{read or ' spoken'}"
        case "assessed":
            return "Agreement {agreementRatio:.2f}, stability {avgStability:.2f}, score {overallScore:.2f}.".format(
                **{"agreementRatio": 0.0, "avgStability": 0.0, "overallScore": 0.0} | _numbers(data.get("metrics"))
            )
        case "decision_requested":
            return f"A person decides: {' or '.join(map(str, data.get('choices') or ()))}."
        case _:
            return ""


def _with_head(data: Json, name: str) -> str:
    """The message, and the first words of a long text."""
    head = str((data.get(name) or {}).get("head") or "")
    return f"{data.get('message')} {head[:200]}".rstrip()


def _numbers(metrics: Any) -> dict[str, float]:
    found = metrics if isinstance(metrics, dict) else {}
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def _took(data: Json) -> str:
    seconds = float(data.get("seconds") or 0.0)
    return f" after {seconds:.1f} s" if seconds >= 0.05 else ""
