"""The words of a prompt: what a request names by number or word, spelled out in the language of the team."""

from collections.abc import Mapping

from adapters.agents import prompts
from adapters.agents.prompts import modes, phases, reasons, standing
from domain.orchestration.phases import phase_name
from domain.session.record import Whole
from domain.session.turns import TurnRequested


def prompt_of(request: TurnRequested, *, language: str, whole: Whole) -> str:
    """What the agent is asked, word for word."""
    name, _, strategy = request.prompt.partition("@")[0].partition(".")
    chosen = prompts.prompt(name, strategy=strategy or None, language=language)
    words = {place: whole(text) for place, text in request.context.items()}
    return prompts.render(chosen, {**words, **_spelled_out(words, language)})


def _spelled_out(words: Mapping[str, str], language: str) -> dict[str, str]:
    """What the request names by number or word, in the language of the prompt."""
    spelled = {}
    if number := words.get("phase_number"):
        spelled["phase_name"] = phase_name(int(number), "ko" if language == "ko" else "en")
        spelled["phase_instruction"] = phases.phase_instruction(int(number), language)
        spelled["remaining_phases"] = phases.remaining_phases(_numbers(words["remaining_phases"]), language)
        spelled["mode"] = modes.work_mode("parallel" if words["mode"] == "parallel" else "sequential", language)
        if not words["previous_results"] and words["mode"] != "parallel":
            spelled["previous_results"] = modes.first_agent(language)
    if judged := words.get("agents"):
        spelled["agents"] = standing.agents(judged, language)
    if why := words.get("reasons"):
        spelled["reasons"] = reasons.reasons(why, language)
    if rubric := words.get("rubric"):
        spelled["rubric"] = "\n\n".join(phases.rubric(number, language) for number in _numbers(rubric))
    return spelled


def _numbers(words: str) -> list[int]:
    return [int(part) for part in words.split(",") if part]
