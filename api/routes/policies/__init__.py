"""POST /api/policies/…: the pure rules, so that they can be tried, tuned and tested from outside (contract §5).

Stateless: the same body always gives the same answer, as long as the rules stay; under an `Idempotency-Key`, for good.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from api.http.idempotency import remember_answers
from api.http.requests import raw_body, read, read_object
from api.routes.policies import bodies, rules
from api.routes.views import answer
from domain.convergence import Metrics
from domain.triage import Triage
from domain.values.base import Value

PREFIX = "/api/policies/"
INLINE_BYTES = 8_192
"""A longer body is judged in a thread: rules are linear in their text, and the loop has others to serve."""

B = TypeVar("B", bound=BaseModel)
A = TypeVar("A", bound=Value)


@dataclass(frozen=True, slots=True)
class Policy(Generic[B, A]):
    """One rule at one endpoint: its request and its answer."""

    name: str
    summary: str
    asked: type[B]
    answered: type[A]
    rule: Callable[[B], A]

    @property
    def path(self) -> str:
        return PREFIX + self.name

    async def judge(self, raw: bytes) -> Response:
        if len(raw) > INLINE_BYTES:
            return await asyncio.to_thread(self._judged, raw)
        return self._judged(raw)

    def _judged(self, raw: bytes) -> Response:
        result = self.rule(read(self.asked, read_object(raw)))
        return answer(result.model_dump(mode="json", by_alias=True))


# `Any` because each has a body and an answer of its own.
# fmt: off
POLICIES: tuple[Policy[Any, Any], ...] = (
    Policy("triage", "Is this message worth a plan and a team?", bodies.TriageBody, Triage, rules.judge_triage),
    Policy("intent", "Does this message only ask to continue or to reset?",
           bodies.IntentBody, bodies.IntentAnswer, rules.judge_intent),
    Policy("phases", "Which phases does each agent of a plan go through?",
           bodies.PhasesBody, bodies.PhasesAnswer, rules.plan_phases),
    Policy("match", "Which employee does a plan mean by a name?", bodies.MatchBody, bodies.MatchAnswer, rules.match),
    Policy("parallel", "Which agents of a plan may work at the same time?",
           bodies.ParallelBody, bodies.ParallelAnswer, rules.parallel),
    Policy("convergence", "Has a discussion converged, and what comes next?",
           bodies.ConvergenceBody, Metrics, rules.convergence),
    Policy("agreement", "How much agreement does a text express?",
           bodies.AgreementBody, bodies.AgreementAnswer, rules.agreement),
    Policy("similarity", "How many of their words do two texts share?",
           bodies.SimilarityBody, bodies.SimilarityAnswer, rules.similarity),
    Policy("budget", "May another iteration begin?", bodies.BudgetBody, bodies.BudgetAnswer, rules.budget),
    Policy("validation", "Which commands validate an iteration?",
           bodies.ValidationBody, bodies.ValidationAnswer, rules.plan_validation),
    Policy("parse", "What does an agent's reply say?", bodies.ParseBody, bodies.ParseAnswer, rules.parse),
    Policy("prompt", "What is in an agent's prompt?", bodies.PromptBody, bodies.PromptAnswer, rules.prompt),
)
# fmt: on


def _handler(policy: Policy[Any, Any]) -> Callable[[Request], Awaitable[Response]]:
    @remember_answers
    async def judged(request: Request) -> Response:
        return await policy.judge(await raw_body(request))

    judged.__name__ = f"policy_{policy.name}"
    judged.__doc__ = f"POST {policy.path}: {policy.summary}"
    return judged


HANDLERS = tuple((policy, _handler(policy)) for policy in POLICIES)
