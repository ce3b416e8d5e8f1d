"""Says what each event changes in the row of its session, and in the session's open turns. Channels have no row."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, get_args

from domain.delivery import events as delivery
from domain.delivery.chart import status as delivery_status
from domain.discussion import events as discussion
from domain.discussion.events import main_point, seen_after
from domain.orchestration import events as orchestration
from domain.orchestration.chart import status as orchestration_status
from domain.session import waits
from domain.session.attempts import Unready, failure_sentence
from domain.session.children import ChildClosed, ParentLink
from domain.session.forge import CommitsTaken
from domain.session.forks import SessionDiverged, SessionForked, SessionReleased
from domain.session.landing import LANDABLE, LANDING_FAILED, LANDING_ROLE
from domain.session.record import Recorded
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import SCRIPTED, TurnAnswered, TurnFailed, TurnRetried
from domain.session.workspace import WorkspacePrepared
from domain.values.base import DomainEvent
from domain.values.budget import add
from domain.values.sentences import packed
from projections.engine.ports import Database, Projection
from projections.facts import of_sessions, spent_by, status_of, stop_reason
from projections.record.explain import evidence
from projections.record.markdown import shortened
from projections.record.session import title_of
from projections.sessions import open_turns, questions
from projections.sessions.handover import HANDOVER_EVENTS, follow_handover, follow_unlanded
from projections.sessions.pull_requests import FORGE_EVENTS, follow_pull_request, follow_rest
from projections.sessions.row import ENDING_EVENTS, ROWS, SessionRow, date_forks, follow_ending

SCHEMA: Final = (
    ROWS.schema,
    "CREATE UNIQUE INDEX IF NOT EXISTS overview_created ON overview (created)",
    "CREATE INDEX IF NOT EXISTS overview_created_at ON overview (created_at)",
    "CREATE INDEX IF NOT EXISTS overview_kind ON overview (kind, created)",
    "CREATE INDEX IF NOT EXISTS overview_status ON overview (status, created)",
    "CREATE INDEX IF NOT EXISTS overview_both ON overview (kind, status, created)",
    "CREATE INDEX IF NOT EXISTS overview_waiting ON overview (waiting) WHERE waiting IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS overview_pulling ON overview (created) WHERE pulling IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS overview_parent ON overview (parent, created)",
    "CREATE INDEX IF NOT EXISTS overview_forks ON overview (forked_from, created) WHERE forked_from IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS overview_labels (label TEXT NOT NULL, created BIGINT NOT NULL,"
    " PRIMARY KEY (label, created))",
    open_turns.TURNS_SCHEMA,
    *questions.QUESTIONS_SCHEMA,
)
Rule = Callable[[SessionRow, Recorded, Any], None]
HEAD: Final = 2_000
"""Characters of a synthesis or summary that are kept; the session has all of it."""


def apply(db: Database, events: Sequence[Recorded]) -> None:
    """Read the rows that the events change, change them in memory, and write each of them once."""
    relevant = of_sessions(events)
    rows = ROWS.get(db, list({recorded.session_id for recorded in relevant}))
    turns, open_questions = open_turns.OpenTurns(db), questions.OpenQuestions(db)
    for recorded in relevant:
        row = rows.get(recorded.session_id)
        if row is None:
            row = _begin(db, recorded, rows)
            if row is None:
                continue
            rows[recorded.session_id] = row
        parts = _parts_of(type(recorded.event))
        _evolve(row, recorded)
        if parts.rule:
            parts.rule(row, recorded, recorded.event)
        if parts.turn:
            turns.follow(recorded)
            open_turns.follow_branch(row, recorded)
        if parts.ends:
            follow_ending(row, recorded)
        if parts.hands_over:
            follow_handover(row, recorded)
        if parts.at_forge:
            follow_pull_request(row, recorded)
        if row.unlanded is not None:
            follow_unlanded(row, recorded)
        if row.pull_request is not None:
            follow_rest(row, recorded)
        if parts.question:
            open_questions.follow(recorded)
    ROWS.save(db, rows.values())
    date_forks(db, relevant)
    turns.save()
    open_questions.save()


class _Parts(NamedTuple):
    """The other things that an event of a class may change: the row by a rule, its ending, its result, its pull
    request, turns, questions."""

    rule: Rule | None
    ends: bool
    hands_over: bool
    at_forge: bool
    turn: bool
    question: bool


@cache
def _parts_of(kind: type[DomainEvent]) -> _Parts:
    """Looked up for every event, of which most change little."""
    rules = (rule for about, rule in _RULES.items() if issubclass(kind, about))
    parts = (ENDING_EVENTS, HANDOVER_EVENTS, FORGE_EVENTS, open_turns.TURN_EVENTS, questions.QUESTION_EVENTS)
    return _Parts(next(rules, None), *(issubclass(kind, about) for about in parts))


# -- a session begins ----------------------------------------------------------------------------------------------


def _begin(db: Database, recorded: Recorded, rows: dict[str, SessionRow]) -> SessionRow | None:
    """The first row of a session; None for a history whose first event could not be read."""
    match recorded.event:
        case delivery.DeliveryStarted() as event:
            row = _row(recorded, event, event.task, delivery_status(event.state))
            row.phase, row.iteration, row.max_iterations = event.phases[0], 0, event.limits.max_iterations
            return _labelled(db, row, event.labels)
        case orchestration.OrchestrationStarted(opening=opening) as event:
            row = _row(recorded, opening, opening.prompt, orchestration_status(event.state))
            row.round, row.max_rounds, row.last_round = 0, opening.max_rounds, opening.max_rounds
            return _labelled(db, row, opening.labels)
        case discussion.DiscussionStarted(topic=topic) as event:
            row = _row(recorded, topic, topic.subject.head, event.state)
            row.round, row.max_rounds, row.strategy = 0, topic.max_rounds, topic.strategy
            row.seen = seen_after("", event)
            if topic.parent:
                _adopt(db, row, topic.parent, rows)
            return _labelled(db, row, topic.labels)
        case _:
            return None


def _row(recorded: Recorded, request: Any, task: str, status: str) -> SessionRow:
    """`request` has the title, origin, labels and workspace of a start request: each kind has its own class."""
    return SessionRow(
        session_id=recorded.session_id,
        created=recorded.position,
        version=recorded.version,
        kind=recorded.kind,
        status=status,
        title=title_of(request.title, task),
        origin=request.origin,
        owner=recorded.causation.actor,
        repository=request.workspace,
        started_in=request.started_in,
        labels=json.dumps(list(request.labels), ensure_ascii=False),
        created_at=recorded.at,
        updated_at=recorded.at,
        policy=request.decisions.model_dump_json() if request.decisions else None,
        scripted=int(request.scenario is not None),
        in_place=int(request.workspace is not None and not request.repository),
    )


def _adopt(db: Database, row: SessionRow, link: ParentLink, rows: dict[str, SessionRow]) -> None:
    """A child belongs to the owner of its parent, regardless of who started it."""
    row.parent, row.about = link.session_id, link.about
    parent = rows.get(link.session_id) or ROWS.get(db, [link.session_id]).get(link.session_id)
    if parent is not None:
        row.owner, row.repository, row.started_in = parent.owner, parent.repository, parent.started_in


def _labelled(db: Database, row: SessionRow, labels: Sequence[str]) -> SessionRow:
    for label in dict.fromkeys(labels):
        db.execute("INSERT INTO overview_labels VALUES (?, ?)", (label, row.created))
    return row


# -- changes ------------------------------------------------------------------------------------------------------


def _evolve(row: SessionRow, recorded: Recorded) -> None:
    """Returns what every event may change in the row."""
    row.version, row.updated_at = recorded.version, recorded.at
    row.status = status_of(recorded.event) or row.status
    spent = spent_by(recorded.event)
    if spent is not None:
        row.tokens, row.cost_micros = add(row.tokens, spent.tokens), add(row.cost_micros, spent.cost_micros)
        row.unknown_turns += spent.unknown
    match recorded.event:
        case TurnAnswered(agent_session=str() as handle) if handle.startswith(SCRIPTED):
            row.scripted = 1
        case ChildClosed(scripted=True):
            row.scripted = 1
        case _:
            pass
    match recorded.event:
        case WorkspacePrepared(base_commit=commit):
            row.base = commit
        case TurnAnswered(tree=str() as commit):
            row.tree = commit
        case CommitsTaken(head=commit, base=base):
            row.tree, row.base = commit, base or row.base
        case _:
            return


def _evolve_forked(row: SessionRow, recorded: Recorded, event: SessionForked) -> None:
    """It is new, has no parent, belongs to the person who forked it, and waits for a person since then."""
    row.forked_from, row.parent, row.about, row.owner = event.source, None, None, recorded.causation.actor
    row.policy = _with_author(row.policy, event.author)
    row.fork(event, position=recorded.position, at=recorded.at)


_UNREADY: Final = frozenset(get_args(Unready))


def _fail(row: SessionRow, _: Recorded, event: TurnFailed | TurnRetried) -> None:
    """Of finished work, only a landing has turns under the integrator's role."""
    if isinstance(event, TurnFailed) and event.role == LANDING_ROLE and row.status in LANDABLE:
        row.unlanded = LANDING_FAILED
    row.fail(failure_sentence(event.agent, event.failure) if isinstance(event, TurnFailed) else None)


def _evolve_delivery(row: SessionRow, recorded: Recorded, event: delivery.DeliveryEvent) -> None:
    """A delivery that used up its budget waits for more (K-46); an ended one waits for nothing."""
    match event:
        case delivery.PhaseStarted():
            row.phase = event.phase or row.phase
        case delivery.AttemptStarted():
            row.iteration = event.iteration
        case delivery.PhaseFailed():
            row.fail(event.sentence or event.error_message)
            row.cause = event.error_type if event.error_type in _UNREADY else None
        case delivery.ValidationFailed() | delivery.ReviewBlockingDetected():
            why = next(iter(evidence(event)), "")
            row.rejected, row.rejected_sentence = shortened(why, HEAD) or None, packed(why)
        case delivery.BudgetExhausted() | delivery.NoProgress(state="exhausted"):
            cause = "no_progress" if isinstance(event, delivery.NoProgress) else event.reason or ""
            row.wait(waits.budget(cause), recorded)
            row.summary, row.summary_sentence = row.rejected, row.rejected_sentence
        case delivery.ScopeRequested():
            row.wait(waits.scope(), recorded)
            row.request_id, row.summary = event.request_id, shortened("\n".join(event.paths), HEAD)
        case delivery.BudgetExtended():
            row.max_iterations = event.limits.max_iterations
            row.go_on()
        case delivery.RevisionBegun():
            row.max_iterations, row.phase = event.limits.max_iterations, "implementation"
            row.revise()
        case delivery.SessionFinished(state="failed"):
            row.wait(waits.failed(event.code or row.cause), recorded)
            words = event.final_summary if event.code else row.last_error or event.final_summary
            row.summary = shortened(words, HEAD)
            row.summary_sentence = packed(event.sentence) if event.code else row.last_error_sentence
        case delivery.ScopeDecided():
            row.go_on()
        case delivery.DeliveryTransition(state=state) if state != "exhausted":
            row.go_on()


_RETRIED: Final = frozenset({"turn_failed", "agent_failed", "plan_invalid", *_UNREADY})
"""The reasons of a run that stopped because of something that can be repeated."""


def _evolve_orchestration(row: SessionRow, recorded: Recorded, event: orchestration.OrchestrationEvent) -> None:
    """A run waits at its checkpoint, or where it stopped, until an event continues it."""
    if isinstance(event, orchestration.OrchestrationTransition):
        row.go_on()
    match event:
        case orchestration.RoundStart():
            row.round = event.round
        case orchestration.CheckpointReached():
            row.wait(waits.checkpoint(outside=bool(event.outside)), recorded)
            row.summary = shortened(event.summary.head, HEAD)
        case orchestration.PartialReached(reason=reason):
            row.wait(waits.partial(reason, planned=bool(row.round), retriable=reason in _RETRIED), recorded)
            row.summary = shortened(event.summary.head, HEAD)
        case orchestration.Completed():
            row.fail(None)
        case orchestration.Continued() | orchestration.RoundsAdded():
            row.max_rounds = row.last_round = event.last_round
        case orchestration.RunRevisionBegun():
            row.max_rounds = row.last_round = event.last_round
            row.revise()


def _evolve_discussion(row: SessionRow, recorded: Recorded, event: discussion.DiscussionEvent) -> None:
    row.stop_reason = row.stop_reason or stop_reason(event)
    if not isinstance(event, discussion.DiscussionStarted):
        row.seen = seen_after(row.seen, event)
    match event:
        case discussion.RoundAdded():
            row.round = event.round
        case discussion.Assessed(metrics=metrics):
            row.score, row.recommendation = metrics.overall_score, metrics.recommendation
            row.convergence = metrics.model_dump_json(by_alias=True)
        case discussion.AgentFailed():
            row.fail(event.sentence or event.error)
        case discussion.Synthesized():
            row.synthesis = shortened(event.synthesis.head, HEAD)
        case discussion.DiscussionRetried():
            row.stop_reason = None
            row.go_on()
        case discussion.DecisionRequested():
            interrupted = row.stop_reason == "error"
            row.wait(waits.decision(row.stop_reason, event.choices, interrupted=interrupted), recorded)
            row.expires_at = event.expires_at
            row.feedback = json.dumps(_in_short(event.feedback), ensure_ascii=False)
        case discussion.DecisionVoted():
            others = [vote for vote in json.loads(row.votes or "[]") if vote[0] != event.actor]
            vote = [event.actor, event.choice, event.rationale, recorded.at]
            row.votes = json.dumps([*others, vote], ensure_ascii=False)
        case discussion.Ending():
            row.go_on()


def _with_author(policy: str | None, author: str) -> str | None:
    """A person who forks a session becomes one of its authors."""
    if policy is None or not author:
        return policy
    decision_policy = DecisionPolicy.model_validate_json(policy)
    return decision_policy.changed(authors=tuple(dict.fromkeys((*decision_policy.authors, author)))).model_dump_json()


def _in_short(feedback: dict[str, Any]) -> dict[str, Any]:
    """The feedback's verdict and summary; `points` counts its issues or concerns."""
    points = feedback.get("issues") or feedback.get("concerns") or []
    return {
        "verdict": feedback.get("verdict"),
        "summary": shortened(main_point(feedback), HEAD),
        "points": len(points),
        "error": feedback.get("error"),
    }


def _evolve_held(row: SessionRow, recorded: Recorded, event: SessionDiverged | SessionReleased) -> None:
    """A fork that is held where no recorded answer fits waits until a person continues it."""
    if isinstance(event, SessionDiverged) and event.held:
        row.wait(waits.held(), recorded)
    elif row.cause == waits.held().cause:
        row.go_on()


_RULES: Final[dict[type[DomainEvent], Rule]] = {
    SessionForked: _evolve_forked,
    SessionDiverged: _evolve_held,
    SessionReleased: _evolve_held,
    TurnFailed: _fail,
    TurnRetried: _fail,
    delivery.DeliveryEvent: _evolve_delivery,
    orchestration.OrchestrationEvent: _evolve_orchestration,
    discussion.DiscussionEvent: _evolve_discussion,
}
OVERVIEW: Final = Projection(
    name="overview",
    tables=("overview", "overview_labels", "overview_turns", "overview_questions"),
    schema=SCHEMA,
    apply=apply,
    version=30,
)
