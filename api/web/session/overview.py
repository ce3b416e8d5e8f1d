"""The first thing seen: the state, how far it is, and its budget: what was used, what is left, and how it went down
(S4 §9.4)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from api.web.model import LineCount, clock, line_count, money, owner
from api.web.plain_text import cut, in_line, short_command
from api.web.session.context import LONG, SENTENCE, PanelContext, SessionClock
from api.web.session.failure import CauseShown, cause_of
from api.web.session.leading import Lead, lead
from api.web.session.pull_requests import PullRequestShown, pull_request_shown
from api.web.session.status import asked_by, decision
from api.web.session.turns import live
from api.web.session.waits import TurnWait, wait_of
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.orchestration.state import Orchestration
from domain.session.attempts import Unready
from domain.session.state import Session
from domain.values.network import RefusedHost
from domain.values.sentences import Sentence
from projections.record.status import without_unchanged
from projections.record.trail import ForkMark
from projections.views.session import IMPORTED, DeliveryView, DiscussionView, OrchestrationView

TURNS = 12
BECAUSE = 120
"""Characters of what stopped a session, in its head."""
WAITED_MS = 1_000
"""A shorter wait is not worth its words."""


class HeadNote(NamedTuple):
    """A message with its values."""

    say: str
    params: Mapping[str, object]


class HandedOver(NamedTuple):
    """From where to where the work goes, and how much it is. `reviewed` is the percentage that the last reviewer saw,
    `clean` the seconds that the fresh checkout took."""

    base: str
    branch: str
    problem: str
    files: int
    lines: LineCount
    outside: int
    reviewed: int | None
    notes: Sequence[HeadNote]
    landing: str
    pull: PullRequestShown | None
    clean: int | None
    weaker: int


class Pause(NamedTuple):
    """An agent, and what it waits for."""

    agent: str
    wait: TurnWait


class Head(NamedTuple):
    """The beginning of every tab. `unchanged`: no file is changed, which is said before anything else. `because` is
    what stopped the session, said by the event `because_at`."""

    unchanged: bool
    lead: Lead | None
    why: str
    because: str
    because_at: int | None
    result: HandedOver | None
    scripted: bool
    owner: str
    waited: str
    choice: str | None
    by: str
    rationale: str
    closed: Sequence[tuple[str, str, str]]
    under_discussion: bool
    review: str | None
    now: Sequence[tuple[str, int, int]]
    cost: str
    forked_from: Sequence[ForkMark]
    elapsed: str
    paused: Sequence[Pause]
    clock: SessionClock


def head(context: PanelContext) -> Head:
    """The beginning of every tab: why the session is as it is, what was decided and by whom, what it cost."""
    shown, card = context.view, decision(context)
    made = shown.decision if isinstance(shown, DiscussionView) else None
    outcomes = context.past(context.trail.outcomes)
    waits = context.needs_somebody and context.badge not in ("exhausted", "no_progress")
    if context.unchanged:
        card = card._replace(summary=without_unchanged(card.summary, context.language))
    pauses = _paused(context)
    for_branch = any(pause.wait.cause == "branch" for pause in pauses)
    why = "" if for_branch else card.summary if waits else context.outcome
    why = without_unchanged(why, context.language) if context.unchanged else why
    error = context.session.last_error if context.badge in ("failed", "partial") and not _unready(context) else ""
    cause, sentence = cause_of(context), error or (why if " " in why else "")
    because = _because(context, cause, sentence)
    begins = None if for_branch else lead(context, card) or _unprepared(context, cause)
    return Head(
        unchanged=context.unchanged,
        lead=begins,
        why="" if because and because == context.worded(sentence) else cut(in_line(context.worded(sentence)), SENTENCE),
        because="" if begins else cut(because, SENTENCE if _unready(context) else BECAUSE),
        because_at=cause.version if cause else None,
        result=_handed_over(context),
        scripted=context.session.scripted,
        owner=owner(asked_by(context)),
        waited=clock(context.waited_ms) if context.waited_ms >= WAITED_MS else "",
        choice=made.choice if made else None,
        by=owner(made.actor) if made else "",
        rationale="" if begins and begins.rest else cut(context.worded(made.rationale if made else None), SENTENCE),
        closed=[(mark.choice, owner(mark.by), mark.child) for mark in context.past(context.trail.closed)[-1:]],
        under_discussion=card.what == "children",
        review=("approved" if outcomes[-1].approved else "blocked") if outcomes else None,
        now=[(mark.name, mark.now, mark.of) for mark in _gauges(context.session)],
        cost=money(_spent(context)),
        forked_from=context.past(context.trail.forks)[-1:],
        elapsed=context.elapsed,
        paused=pauses,
        clock=context.clock,
    )


def _paused(context: PanelContext) -> tuple[Pause, ...]:
    """The turn that is tried again first, where the session does nothing but wait for that; one that a person can help
    comes before others."""
    turns = [turn for turn in context.view.outstanding_turns if turn.work != "wait"]
    waits = [(turn.agent, wait_of(context, turn.turn_id)) for turn in turns]
    timed = [Pause(cut(agent, 60), wait) for agent, wait in waits if wait and wait.until]
    if context.imported or len(timed) < len(waits):
        return ()
    return tuple(sorted(timed, key=lambda pause: (pause.wait.cause != "branch", pause.wait.until))[:1])


def _spent(context: PanelContext) -> int | None:
    """Returns what the session has cost; None if nobody reported it."""
    if isinstance(context.session, Orchestration):
        return context.session.spent.cost_micros
    return context.view.budget.cost_micros if isinstance(context.view, DeliveryView) else None


class Gauge(NamedTuple):
    """A share in words: `of` is the whole."""

    name: str
    of: int
    now: int


class TurnAtWork(NamedTuple):
    agent: str
    phase: str | None
    elsewhere: bool
    imported: bool
    machine: str
    live: str
    requested_at: str
    wait: TurnWait | None


class Overview(NamedTuple):
    badge: str
    at_work: Sequence[TurnAtWork]
    more_at_work: int
    summary: str
    error: str
    warnings: Sequence[str]
    elapsed: str
    cost: str
    cost_micros: int
    most_cost: str
    clock: SessionClock
    gauges: Sequence[Gauge]
    fence: str | None
    fence_gaps: Sequence[str]
    refused_hosts: Sequence[RefusedHost]
    delivery: Delivery | None


def overview(context: PanelContext) -> Overview:
    """Omits what the head already shows."""
    session = context.session
    unexplained = context.badge in ("failed", "partial") and not cause_of(context)
    summary = "" if context.needs_somebody else context.outcome
    spent = context.view.budget.cost_micros if isinstance(context.view, DeliveryView) else None
    most = session.budget.limits.max_cost_micros if isinstance(session, Delivery) else None
    return Overview(
        badge=context.badge,
        at_work=[
            TurnAtWork(
                agent=cut(turn.agent, 60),
                phase=turn.phase,
                elsewhere=turn.elsewhere is not None,
                imported=turn.waiting_for == IMPORTED,
                machine=cut(turn.machine or "", 60),
                live="" if turn.external else live(context, turn.turn_id),
                requested_at=turn.requested_at,
                wait=wait_of(context, turn.turn_id),
            )
            for turn in context.view.outstanding_turns[:TURNS]
            if turn.work != "wait"
        ],
        more_at_work=max(0, len(session.outstanding) - TURNS),
        summary=cut(summary, LONG) if len(summary) > SENTENCE else "",
        error=cut(context.worded(session.last_error), LONG) if unexplained else "",
        warnings=[cut(context.worded(words), SENTENCE) for words in getattr(session, "warnings", ())[:5]],
        elapsed=context.elapsed,
        cost=money(spent),
        cost_micros=spent or 0,
        most_cost=money(most),
        clock=context.clock,
        gauges=_gauges(session),
        fence=session.fence,
        fence_gaps=session.fence_gaps,
        refused_hosts=session.refused_hosts,
        delivery=session if isinstance(session, Delivery) else None,
    )


def _unready(context: PanelContext) -> bool:
    """True if it stopped before any agent was asked; its summary says why, and what to do."""
    return _reason(context) in get_args(Unready)


def _reason(context: PanelContext) -> str | None:
    """The code of why it stopped."""
    shown = context.view
    return shown.reason if isinstance(shown, DeliveryView | OrchestrationView | DiscussionView) else None


def _unprepared(context: PanelContext, cause: CauseShown | None) -> Lead | None:
    """The fault that kept a delivery from its first agent, in short: the card has the whole reason, and what to do."""
    reason, summary = _reason(context), getattr(context.session, "final_summary", None)
    if reason == "setup_failed" and cause:
        return Lead("head_lead.setup_failed", {}, cut("\n".join(cause.lines).rstrip().rpartition("\n")[2], SENTENCE))
    sources = summary.params.get("sources") if isinstance(summary, Sentence) else None
    if reason == "validation_escapes_workspace" and isinstance(sources, list):
        return Lead("head_lead.escapes", {}, cut(", ".join(map(context.worded, sources)), SENTENCE))
    return None


def _because(context: PanelContext, cause: CauseShown | None, sentence: str) -> str:
    """The first line that says why, in the reader's language; the sentence itself where that line only adds a code."""
    sentence, line = context.worded(sentence), context.worded(cause.lines[0] if cause else "")
    if not line or line in sentence:
        return ""
    return sentence if sentence and line.endswith(sentence) else line


def _handed_over(context: PanelContext) -> HandedOver | None:
    result, session = context.result, context.session
    if not result:
        return None
    base, files = result.base, result.files
    return HandedOver(
        base="@".join(filter(None, (cut(base.branch or "", 80), base.commit[:7]))),
        branch=cut(result.branch or "", 120),
        problem=cut(context.worded(session.branch_problem), SENTENCE),
        files=len(files),
        lines=line_count((file.added, file.removed) for file in files),
        outside=len(result.outside),
        reviewed=_seen_in_part(session),
        notes=_on_validation(session),
        landing=context.landing,
        pull=pull_request_shown(result.pull_request),
        clean=_in_clean_room(session),
        weaker=len(session.weakened),
    )


def _on_validation(session: Session) -> list[HeadNote]:
    """The notes on the validation that a reader needs; empty where nothing is open."""
    if session.validated is None:
        return [] if session.outstanding else [HeadNote("head_not_validated", {})]
    red = isinstance(session, Orchestration) and not session.validated.passed and not session.failures
    notes = [HeadNote("head_red", {})] if red else []
    notes += [] if session.validated.clean_room else [HeadNote("head_not_cloned", {})]
    stale = session.clean_room.stale if session.clean_room else ()
    notes += [HeadNote("head_stale", {"command": cut(short_command(command), 80)}) for command in stale]
    return notes + [
        HeadNote("head_flaky", {"command": cut(short_command(flake.command), 80), "n": flake.failed, "of": flake.runs})
        for flake in session.flaky.values()
        if not flake.known
    ]


def _in_clean_room(session: Session) -> int | None:
    """The seconds that the fresh checkout took; None where none was needed."""
    room = session.clean_room
    return round(room.seconds) if room is not None and room.needed else None


def _seen_in_part(session: Session) -> int | None:
    """The percentage of the changed lines that the last reviewer saw; None if all, or if that is not known."""
    reviewed = session.reviewed
    return reviewed.percent if reviewed is not None and reviewed.shown < reviewed.of else None


def _gauges(session: object) -> list[Gauge]:
    match session:
        case Delivery():
            return [Gauge("iterations", of=session.budget.limits.max_iterations, now=session.iteration)]
        case Orchestration() if session.mode == "orchestrated":
            return [Gauge("rounds", of=session.last_round, now=session.round)]
        case Discussion():
            return [Gauge("rounds", of=session.max_rounds, now=len(session.rounds))]
        case _:
            return []
