"""Builds what the judge of a round is shown: whom it judges, for which phases, and what they reported (§1.9)."""

from domain.orchestration.judgement import judged_phases
from domain.orchestration.state import Orchestration, subtask_id
from domain.values.phases import Language, phase_name
from domain.values.sentences import Sentence, in_language

RESULT = 1_200
"""How many characters of a report the judge sees."""


def expected(run: Orchestration) -> tuple[str, ...]:
    """The name of each subtask to judge: `Backend`, or `Backend#s2` if an agent has several."""
    return tuple(_label(run, place, "{0}#{1}") for place in run.active)


def results(run: Orchestration) -> str:
    """The reports of the round's agents, for the prompt of the judge."""
    marks = {"done": "✅", "error": "❌"}
    return "\n\n".join(
        f"{marks[report.result]} {_label(run, place)}\n{report.report.head[:RESULT]}"
        for place, report in run.reports.items()
    )


def assignments(run: Orchestration, language: Language | None = None) -> str:
    """A line per subtask: whose it is, what is judged, by which criteria. Requests have it in English with the Korean
    names of the phases; prompts have it in one language."""
    return "\n".join(_assignment(run, place, language) for place in range(len(run.agents)))


def _assignment(run: Orchestration, place: int, language: Language | None) -> str:
    agent = run.agents[place]
    phases = [f"{phase} ({phase_name(phase, language or 'ko')})" for phase in judged_phases(run, place)]
    scope = Sentence("subtask_completed") if agent.completed else Sentence("subtask_judged", phases=phases)
    verification = agent.verification
    parts = [
        f"- {_label(run, place)} ({agent.role}): {in_language(scope, language or 'en')}",
        f"task: {agent.task}" if run.has_several(agent.agent) else "",
        f"pass: {verification.pass_criteria}" if verification and verification.pass_criteria else "",
        f"fail: {verification.fail_criteria}" if verification and verification.fail_criteria else "",
    ]
    return "; ".join(filter(None, parts))


def _label(run: Orchestration, place: int, form: str = "{0}, subtask {1}") -> str:
    """The agent's name; if it has several subtasks, also which one."""
    name = run.agents[place].agent
    return form.format(name, subtask_id(place)) if run.has_several(name) else name
