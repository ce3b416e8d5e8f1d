"""The sentence under the title of a session: what it does or waits for, or how it ended, and because of what."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from api.web.plain_text import cut, short_command
from api.web.session.context import SENTENCE, PanelContext
from api.web.session.matter import point_of
from api.web.session.status import Card
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.orchestration.state import Orchestration

ASKS: Final = frozenset({"review", "debate", "checkpoint", "scope", "scope_checkpoint", "held"})
"""The waits for which the card asks a person in a sentence of its own."""

BEFORE: Final = ("planning", "architecture", "design")
"""The phases before the first iteration."""

COMMAND: Final = 60
"""Characters of a validation command."""


class Lead(NamedTuple):
    """A message with its values, and what follows it: another message with the same values, or recorded words."""

    message: str
    values: Mapping[str, object]
    rest: str = ""
    then: str = ""


def lead(context: PanelContext, card: Card) -> Lead | None:
    """None where the outcome says it all."""
    session, what = context.session, card.what
    match session:
        case _ if (session.sent_back or session.not_tried) and context.landing and what not in ASKS:
            return Lead("head_lead.landing", {"words": context.landing})
        case _ if what == "permission":
            return Lead(f"wants.{card.tool}", {"agent": card.agent}, card.summary)
        case _ if what in ASKS:
            one = "_one" if card.files == 1 else ""
            stopped = f"session_stop.{card.reason}" if what in ("review", "debate") and not card.summary else ""
            return Lead(f"session_asks.{what}{one}", {"n": card.files}, card.summary, stopped)
        case _ if what == "children":
            return Lead("head_lead.children", {"about": card.children[0].about})
        case Orchestration(state="partial", partial_reason="rounds"):
            return Lead("head_lead.partial", _counted(session), sent_back(context, session))
        case Orchestration(state="working" | "judging"):
            return Lead("head_lead.round", {"n": session.round, "of": session.last_round}, sent_back(context, session))
        case Orchestration(state="done", mode="orchestrated", agents=()):
            return Lead("session_no_plan_needed", {})
        case Orchestration(state="done", mode="orchestrated"):
            return Lead("head_lead.done", {"n": session.round})
        case Delivery(state="success") if session.base is not None:
            return _delivered(session)
        case Delivery() if session.outstanding and not session.ended:
            return _at_work(session)
        case Discussion(decision=made) if made is not None:
            rationale = context.worded(made.rationale)
            rest = f"“{cut(rationale, SENTENCE)}”" if rationale else cut(point_of(session), SENTENCE)
            return Lead("head_lead.decided", {"choice": made.choice}, rest)
        case Discussion() if session.outstanding and not session.ended:
            return Lead("head_lead.round", {"n": len(session.rounds) + 1, "of": session.max_rounds})
        case _:
            return None


def sent_back(context: PanelContext, run: Orchestration) -> str:
    """The agent whose last verdict was that its work does not pass, and why."""
    for agent in run.agents:
        last = agent.history[-1] if agent.history and not agent.completed else None
        if last is not None and not last.passed:
            return f"{agent.agent}: {cut(context.worded(last.feedback), SENTENCE)}" if last.feedback else ""
    return ""


def _at_work(session: Delivery) -> Lead | None:
    """The iteration; before the first one, who does what. None while its next attempt is waited for."""
    if session.iteration:
        return Lead("head_lead.iteration", {"n": session.iteration, "of": session.budget.limits.max_iterations})
    turn = next(iter(session.outstanding.values()))
    if turn.tries.until is not None:
        return None
    return Lead(f"head_lead.{turn.phase if turn.phase in BEFORE else 'baseline'}", {"agent": turn.agent})


def _delivered(session: Delivery) -> Lead:
    """The iteration, what was validated, and the result of the review."""
    commands = ", ".join(cut(short_command(step.command), COMMAND) for step in session.steps)
    values = {"n": session.iteration, "commands": commands, "score": session.score}
    if "review" not in session.way:
        return Lead("head_lead.success", values, then="head_lead.unreviewed")
    then = "checked" if commands else "approved"
    return Lead("head_lead.success", values, then=f"head_lead.{then}{'' if session.score is None else '_score'}")


def _counted(run: Orchestration) -> dict[str, int]:
    done = sum(agent.completed for agent in run.agents)
    return {"done": done, "all": len(run.agents), "n": run.round}
