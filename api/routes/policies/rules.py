"""The answer of each pure rule to a body."""

from adapters.agents.prompts.catalogue import prompt as find_prompt
from api.routes.policies import bodies
from domain import replies, triage
from domain.convergence import assessment, counts
from domain.orchestration.claims import FileClaim
from domain.orchestration.claims import parallel as parallel_claims
from domain.session import validation
from domain.values import phases
from domain.values.base import Unreadable
from domain.values.budget import MINUTE, Budget, BudgetLimits
from projections.views.session import PlannedAgent, PlannedCommand, PlannedVerification


def judge_triage(body: bodies.TriageBody) -> triage.Triage:
    return triage.triage(body.text, body.policy)


def judge_intent(body: bodies.IntentBody) -> bodies.IntentAnswer:
    return bodies.IntentAnswer(intent=triage.intent(body.text))


def plan_phases(body: bodies.PhasesBody) -> bodies.PhasesAnswer:
    plan = phases.plan_agents(body.subtasks)
    return bodies.PhasesAnswer(agents=tuple(map(_planned, plan.agents)), warnings=plan.warnings)


def _planned(agent: phases.AgentPhases) -> PlannedAgent:
    criteria = agent.verification
    verification = None if criteria is None else PlannedVerification(**dict(criteria))
    return PlannedAgent(**{**dict(agent), "verification": verification})


def match(body: bodies.MatchBody) -> bodies.MatchAnswer:
    return bodies.MatchAnswer(employee=phases.match(body.agent, body.employees))


def parallel(body: bodies.ParallelBody) -> bodies.ParallelAnswer:
    claims = [
        FileClaim(
            agent=claim.agent,
            parallel=claim.parallel is True,
            affected_files=None if claim.affected_files is None else tuple(claim.affected_files),
        )
        for claim in body.agents
    ]
    return bodies.ParallelAnswer(parallel=tuple(parallel_claims(claims)))


def convergence(body: bodies.ConvergenceBody) -> assessment.Metrics:
    rounds = [assessment.Round(round=entry.round, role=entry.role, content=entry.content) for entry in body.rounds]
    return assessment.assess(rounds, body.profile)


def agreement(body: bodies.AgreementBody) -> bodies.AgreementAnswer:
    return bodies.AgreementAnswer(ratio=counts.agreement(body.text, body.profile))


def similarity(body: bodies.SimilarityBody) -> bodies.SimilarityAnswer:
    return bodies.SimilarityAnswer(jaccard=counts.similarity(body.a, body.b, body.profile))


def budget(body: bodies.BudgetBody) -> bodies.BudgetAnswer:
    """The rule itself: a minute has 60 seconds here, whatever a server's own deliveries are tested with."""
    limits = BudgetLimits(max_iterations=body.max_iterations, max_minutes=body.max_minutes, minute=MINUTE)
    rule = Budget(limits=limits, started_at=body.started_at.at)
    reason = rule.exhausted(iteration=body.iteration, at=body.now.at)
    answer = rule.snapshot(iteration=body.iteration, at=body.now.at, reason=reason)
    snapshot = bodies.BudgetSnapshot(
        max_iterations=answer.max_iterations,
        max_minutes=answer.max_minutes,
        started_at=body.started_at.shown(answer.started_at),
        deadline_at=body.started_at.shown(answer.deadline_at),
        elapsed_ms=answer.elapsed_ms,
        remaining_iterations=answer.remaining_iterations,
        reason=answer.reason,
    )
    return bodies.BudgetAnswer(ok=reason is None, reason=reason, snapshot=snapshot)


def plan_validation(body: bodies.ValidationBody) -> bodies.ValidationAnswer:
    steps = validation.commands(body.test_command, body.validation_commands)
    return bodies.ValidationAnswer(
        commands=tuple(PlannedCommand(stage=step.stage, command=step.command) for step in steps)
    )


def parse(body: bodies.ParseBody) -> bodies.ParseAnswer:
    """Words that cannot be read are no error of the caller's: they are the answer. Raises Invalid: no such kind."""
    try:
        return bodies.ParseAnswer(value=replies.read(body.kind, body.text))
    except Unreadable as problem:
        return bodies.ParseAnswer(value=None, problem=str(problem))


def prompt(body: bodies.PromptBody) -> bodies.PromptAnswer:
    text = find_prompt(body.name, strategy=body.strategy, language=body.language)
    return bodies.PromptAnswer(text=text.text, version=text.version)
