"""The answers of a delivery to commands: events, or a refusal (S4 §4–§7, behaviour §3)."""

from domain.delivery.chart import PHASES, TABLE, Phase
from domain.delivery.commands import (
    CancelDelivery,
    DecideScope,
    ExtendBudget,
    HoldBudget,
    RecordBaseline,
    RecordValidation,
    ResumeBudget,
    StartDelivery,
)
from domain.delivery.events import (
    BaselineRecorded,
    BranchPublished,
    BudgetExtended,
    BudgetHeld,
    BudgetResumed,
    DeliveryRetried,
    DeliveryStarted,
    FlakySeen,
    PhaseCompleted,
    PhaseFailed,
    TestsPassed,
    ValidationFailed,
)
from domain.delivery.review import close_review, review, unsettled
from domain.delivery.scope import decide_scope, implemented
from domain.delivery.state import Delivery
from domain.delivery.steps import (
    about,
    answered,
    artifact,
    attempt,
    begin,
    complete,
    enter,
    exhaust,
    finish,
    proceed,
    repeated,
    send_back,
    skip,
    skipped,
    succeed,
    take_up,
)
from domain.delivery.validation import failing, flaky_sentence, new_failures, unready
from domain.replies.delivery import PlanParts, plan_parts
from domain.session.attendance import RecordUnattended, absence
from domain.session.children import CloseChild
from domain.session.comment_answers import answer_comments, illegible_answers, leave_comments, unchanged_comments
from domain.session.decision import Events, Now, ask, cancel_turn, cancel_turns, content, end_attempt
from domain.session.forge_rules import link_issue
from domain.session.revision_rules import request_revision
from domain.session.revisions import REVISION_ITERATIONS, REVISION_MINUTES, ReviseSession
from domain.session.shared_steps import retry_failed, retry_waiting
from domain.session.turns import (
    ExpireTurn,
    RecordPackage,
    RecordReply,
    RetryTurn,
    TurnAnswered,
    TurnFailed,
)
from domain.values.base import Command, Refused
from domain.values.budget import BudgetLimits
from domain.values.sentences import Sentence


def decide(now: Now[Delivery], command: Command) -> Events:
    """The events of a command. Raises Refused where the chart or a rule does not allow it (S4 §4–§7)."""
    match command:
        case StartDelivery():
            return start(now, command)
        case RecordReply():
            return record_reply(now, command)
        case RecordBaseline():
            return record_baseline(now, command)
        case RecordValidation():
            return record_validation(now, command)
        case HoldBudget():
            return hold_budget(now, command)
        case ResumeBudget():
            return resume_budget(now, command)
        case RecordPackage():
            return record_package(now, command)
        case ExpireTurn():
            return expire(now, command)
        case RecordUnattended():
            return record_unattended(now, command)
        case ExtendBudget():
            return extend(now, command)
        case RetryTurn():
            return retry(now, command)
        case ReviseSession():
            return revise(now, command)
        case DecideScope():
            return decide_scope(now, command)
        case CancelDelivery():
            return cancel(now, command)
        case CloseChild():
            return close_review(now, command)
        case _:
            raise now.unfit(command)


def allowed_actions(delivery: Delivery) -> tuple[str, ...]:
    """The commands that a person may send now (contract §2)."""
    open_ = tuple(
        action
        for action in ("cancel", "extend", "retry", "revise")
        if TABLE.target(delivery.state, action, delivery.guard) is not None
    )
    return open_ if delivery.scope_request is None else ("scope", *open_)


# -- a person ------------------------------------------------------------------------------------------------------


def start(now: Now[Delivery], command: StartDelivery) -> Events:
    """Begin with the baseline, or with the first phase at once (S4 §4, contract-2 §9). What the delivery goes without
    is skipped."""
    fields = {name: getattr(command, name) for name in StartDelivery.model_fields if name not in ("blobs", "issue")}
    left = command.limits.max_iterations
    by = "" if command.baseline else "complete"
    without = [phase for phase in PHASES if phase not in command.phases]
    yield now.begin(
        DeliveryStarted, by=by, passing=without, message="Session started.", remaining_iterations=left, **fields
    )
    for phase in without:
        yield skipped(now, phase)
    if command.issue is not None:
        yield from link_issue(now, command.issue)
    if command.baseline:
        yield ask(now, role="setup", work="prepare", phase="preparing")
    else:
        yield from begin(now)


def cancel(now: Now[Delivery], command: CancelDelivery) -> Events:
    """End for good: turns are cancelled and the phases that have not ended are skipped."""
    now.next("cancel", refusal=command.REFUSAL)
    yield from cancel_turns(now, "cancelled")
    yield from skip(now, "running", "pending")
    summary = Sentence("cancelled_because", detail=command.reason) if command.reason else "cancelled"
    yield from finish(now, "cancelled", summary, by="cancel")


def extend(now: Now[Delivery], command: ExtendBudget) -> Events:
    """Raise the limits (K-46). An exhausted delivery resumes what it could not begin or finish."""
    state, resume = now.state, now.state.resume
    target = now.next("extend", refusal=command.REFUSAL)
    if not any((command.add_iterations, command.add_minutes, command.add_tokens, command.add_cost_micros)):
        sentence = Sentence("extension_empty")
        raise Refused(sentence, allowed=now.allowed())
    yield _extended(now, command, target)
    if resume is None:
        return
    reason = now.state.budget.exhausted(iteration=resume.iteration, at=now.at)
    if reason is not None:
        raise Refused(Sentence("budget_still_exhausted", reason=reason), allowed=("extend",))
    if resume.phase == "implementation" and resume.iteration > state.iteration:
        yield attempt(now, resume.iteration)
    yield from enter(now)


def _extended(now: Now[Delivery], command: ExtendBudget, target: str) -> BudgetExtended:
    state = now.state
    limits = _wider(state.budget.limits, command)
    fields = about(now, state.phase, role="supervisor")
    fields |= {"remaining_iterations": limits.remaining(state.gate), "reason": None}
    return BudgetExtended(
        state=target,
        message=f"Budget extended: {command.reason}",
        limits=limits,
        paused=state.budget.paused + state.stopped_for(now.at),
        add_iterations=command.add_iterations or 0,
        add_minutes=command.add_minutes or 0,
        add_tokens=command.add_tokens or 0,
        add_cost_micros=command.add_cost_micros or 0,
        why=command.reason,
        **fields,
    )


def revise(now: Now[Delivery], command: ReviseSession) -> Events:
    """Go on with what a person wants changed: at once with another iteration, or, while agents are at work, with the
    next turn that writes. Only a delivery that has stopped gets more budget unasked."""
    stopped = now.state.ended
    iterations = command.add_iterations or (REVISION_ITERATIONS if stopped else 0)
    minutes = command.add_minutes or (REVISION_MINUTES if stopped else 0)
    yield from request_revision(now, command, iterations=iterations, minutes=minutes)
    more = ExtendBudget(add_iterations=iterations or None, add_minutes=minutes or None, reason=command.text.head)
    if stopped:
        return (yield from take_up(now, by="revise", limits=_wider(now.state.budget.limits, more)))
    if iterations or minutes:
        yield _extended(now, more, now.next("extend"))


def retry(now: Now[Delivery], command: RetryTurn) -> Events:
    """Ask the waiting turn at once, or a failed turn again. What came before it is kept."""
    waiting = retry_waiting(now, command)
    if waiting:
        return (yield from waiting)
    state, failed = now.state, now.state.failed_turn
    if failed is None or not state.ended:
        raise now.refusal(command.REFUSAL)
    fields = about(now, _phase(failed.phase), role="supervisor")
    paused = state.budget.paused + now.at - (state.stopped_at or now.at)
    message = f"Retried: {command.reason}" if command.reason else "Retried."
    yield now.move("retry", DeliveryRetried, message=message, paused=paused, why=command.reason, **fields)
    reason = now.state.budget.overdrawn(at=now.state.budget_time(now.at))
    if reason is not None:
        yield from skip(now, "running")
        return (yield from exhaust(now, reason, now.state.phase, state.iteration))
    yield retry_failed(now, command, None if failed.deadline is None else now.state.budget.deadline_at)


def _phase(name: str | None) -> Phase | None:
    """The phase of that name; None while the workspace is being prepared."""
    return next((phase for phase in PHASES if phase == name), None)


def _wider(limits: BudgetLimits, command: ExtendBudget) -> BudgetLimits:
    return limits.changed(
        max_iterations=limits.max_iterations + (command.add_iterations or 0),
        max_minutes=limits.max_minutes + (command.add_minutes or 0),
        max_tokens=_more(limits.max_tokens, command.add_tokens),
        max_cost_micros=_more(limits.max_cost_micros, command.add_cost_micros),
    )


def _more(limit: int | None, extra: int | None) -> int | None:
    return limit if limit is None else limit + (extra or 0)


# -- turns ---------------------------------------------------------------------------------------------------------


def record_reply(now: Now[Delivery], command: RecordReply) -> Events:
    """Keep what an agent delivered and go to the next phase; a review decides where to go (S4 §6)."""
    phase = now.state.phase
    if phase == "review":
        return (yield from review(now, command))
    writes = phase == "implementation"
    failure = illegible_answers(now.state, command) if writes else command.failure
    if not (yield from answered(now, command, failure)):
        return
    if writes:
        yield from answer_comments(now, command)
        yield from leave_comments(now, command.turn_id)
    plan = plan_parts(content(command, command.reply)) if phase == "planning" else PlanParts()
    words = {"goals": plan.goals, "files": plan.files}
    yield artifact(now, phase, "text/markdown", command.reply, patch=command.patch, **words)
    yield from (implemented(now) if writes else complete(now, phase))


def record_baseline(now: Now[Delivery], command: RecordBaseline) -> Events:
    """Begin the first phase, unless the validation would prove nothing: then no agent is asked (contract-2 §9)."""
    baseline = command.baseline
    event = end_attempt(now, command, command.failure or unready(baseline))
    yield event
    if command.failure is None:
        fields = about(now, None, role="supervisor") | baseline.model_dump()
        yield BaselineRecorded(message="Baseline recorded.", **fields)
    match event:
        case TurnAnswered():
            yield from proceed(now)
        case TurnFailed(failure=failure):
            yield from skip(now, "pending")
            code = failure.code if command.failure is None else "turn_failed"
            yield from finish(now, "failed", failure.why or failure.code, by="fail", code=code)


def record_validation(now: Now[Delivery], command: RecordValidation) -> Events:
    """Passed: go to the review. Failed: the next iteration gets the output (S4 §6.2, K-40, K-41)."""
    if not (yield from answered(now, command, command.failure)):
        return
    yield artifact(now, "validation", "application/json", command.report)
    fields = about(now, "validation")
    for flake in command.flaky:
        yield FlakySeen(message=str(flaky_sentence(flake)), **flake.model_dump(), **fields)
    fields |= {"clean_room": command.clean_room, "apart_ms": command.apart_ms, "weakened": command.weakened}
    if command.passed:
        passed = {"summary": command.summary, "no_tests": command.no_tests, "coverage": command.coverage}
        yield TestsPassed(message="Validation passed.", **passed, **fields)
        if "review" not in now.state.way and unchanged_comments(now.state):
            yield PhaseCompleted(message="Phase validation completed.", **about(now, "validation"))
            return (yield from unsettled(now, "validation"))
        return (yield from complete(now, "validation"))
    kind = command.classification or "unknown"
    same = repeated(now.state, failing(command.summary))
    feedback = now.text(f"Validation failed at iteration {now.state.iteration} ({kind}).\n{command.summary}")
    yield ValidationFailed(
        message=f"Validation failed ({kind}).",
        classification=kind,
        summary=command.summary,
        sentence=command.sentence,
        feedback=feedback,
        reasons=command.reasons,
        new_failures=new_failures(command.reasons, now.state.baseline),
        cause=command.cause,
        **fields,
    )
    yield from send_back(now, same)


def hold_budget(now: Now[Delivery], command: HoldBudget) -> Events:
    """Stop the budget's clock while a turn does what does not count."""
    now.turn(command.turn_id)
    fields = about(now, now.state.phase, role="supervisor")
    names = {"turn_id": command.turn_id, "attempt": command.attempt, "why": command.why}
    yield BudgetHeld(message="The budget's clock stands still.", **names, **fields)


def resume_budget(now: Now[Delivery], command: ResumeBudget) -> Events:
    """Let the budget's clock run again."""
    now.turn(command.turn_id)
    fields = about(now, now.state.phase, role="supervisor")
    waited = max(0, now.at - (now.state.held_since or now.at))
    yield BudgetResumed(
        message="The budget's clock runs again.",
        turn_id=command.turn_id,
        waited=waited,
        apart_ms=command.apart_ms,
        **fields,
    )


def record_unattended(now: Now[Delivery], command: RecordUnattended) -> Events:
    """Give back the time in which nobody was there, as far as nothing else has moved the deadline by it."""
    since, until = now.state.counted(command.since, min(command.until, now.at))
    if since >= until:
        raise Refused(Sentence("nothing_unattended"), allowed=now.allowed())
    yield absence(since, until, command.why)


def record_package(now: Now[Delivery], command: RecordPackage) -> Events:
    """The branch is published: succeed. Packaging itself does nothing (S4 §4)."""
    if not (yield from answered(now, command, command.failure)):
        return
    if command.patch is not None:
        yield artifact(now, "packaging", "text/x-diff", command.patch)
    branch, commit = command.branch, command.commit
    place = f"The work is on branch {branch}." if branch else command.problem or ""
    if branch is not None and commit is not None:
        details = {"made_of": command.made_of, "branch_was": command.branch_was}
        yield BranchPublished(message=place, branch=branch, commit=commit, **details, **about(now, "packaging"))
    yield from succeed(
        now, f"{place} Nothing is packaged (packaging is a no-op).".strip(), command.sentence or command.problem
    )


def expire(now: Now[Delivery], command: ExpireTurn) -> Events:
    """The deadline also applies within a running turn: the turn is stopped and its phase fails."""
    turn, state = now.turn(command.turn_id), now.state
    phase = state.phase
    if phase == "packaging":
        raise Refused(Sentence("package_has_no_deadline"), allowed=now.allowed())
    if (state.still_since or now.at) <= state.budget.deadline_at:
        raise Refused(Sentence("deadline_not_passed"), allowed=now.allowed())
    yield cancel_turn(turn, "deadline")
    yield PhaseFailed(
        message=f"Phase {phase} was stopped at the deadline.",
        error_type="deadline",
        error_message="stopped at the deadline",
        sentence=Sentence("stopped_at_deadline"),
        **about(now, phase),
    )
    yield from exhaust(now, "minutes", phase, state.iteration)


# -- reviews: by the delivery's own reviewer, then the one that a person decides ---------------------------------------
