"""POST /api/policies/…: each rule at an endpoint of its own.

Stateless: the same body always gives the same answer, as long as the rules stay; under an `Idempotency-Key`, for good.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from api.http.idempotency import remember_answers
from api.http.requests import raw_body, read, read_object
from api.routes.policies import bodies
from api.routes.policies.rules import (
    agreement,
    budget,
    convergence,
    judge_intent,
    judge_triage,
    match,
    parallel,
    parse,
    plan_phases,
    plan_validation,
    prompt,
    similarity,
)
from api.routes.views import answer
from domain.convergence.assessment import Metrics
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
    example: Mapping[str, Any]

    @property
    def path(self) -> str:
        return PREFIX + self.name

    async def judge(self, raw: bytes) -> Response:
        if len(raw) > INLINE_BYTES:
            return await asyncio.to_thread(self._judged, raw)
        return self._judged(raw)

    def _judged(self, raw: bytes) -> Response:
        result = self.rule(read(self.asked, read_object(raw)))
        return answer(result)


# `Any` because each has a body and an answer of its own.
POLICIES: tuple[Policy[Any, Any], ...] = (
    Policy(
        "triage",
        "Is this message worth a plan and a team?",
        bodies.TriageBody,
        Triage,
        judge_triage,
        {"text": "API 엔드포인트 만들어줘. 그리고 테스트도 작성해줘"},
    ),
    Policy(
        "intent",
        "Does this message only ask to continue or to reset?",
        bodies.IntentBody,
        bodies.IntentAnswer,
        judge_intent,
        {"text": "이어서 해줘"},
    ),
    Policy(
        "phases",
        "Which phases does each agent of a plan go through?",
        bodies.PhasesBody,
        bodies.PhasesAnswer,
        plan_phases,
        {
            "subtasks": [
                {
                    "agent": "Backend",
                    "role": "backend",
                    "task": "Add the endpoint",
                    "start_phase": 3,
                    "checkpoint": True,
                },
                {"agent": "Docs", "role": "docs", "task": "Describe it", "start_phase": 3, "end_phase": 3},
            ]
        },
    ),
    Policy(
        "match",
        "Which employee does a plan mean by a name?",
        bodies.MatchBody,
        bodies.MatchAnswer,
        match,
        {"agent": "backend", "employees": ["Frontend", "Backend", "Docs"]},
    ),
    Policy(
        "parallel",
        "Which agents of a plan may work at the same time?",
        bodies.ParallelBody,
        bodies.ParallelAnswer,
        parallel,
        {
            "agents": [
                {"agent": "Backend", "parallel": True, "affectedFiles": ["src/api.py"]},
                {"agent": "Docs", "parallel": True, "affectedFiles": ["docs/api.md"]},
            ]
        },
    ),
    Policy(
        "convergence",
        "Has a discussion converged, and what comes next?",
        bodies.ConvergenceBody,
        Metrics,
        convergence,
        {
            "rounds": [
                {"round": 1, "role": "critique", "content": "The endpoint leaks its errors. This is incorrect."},
                {"round": 2, "role": "rebuttal", "content": "I agree, the errors are now problems."},
                {"round": 3, "role": "critique", "content": "I accept the errors as problems, this is correct now."},
            ],
            "profile": "seed",
        },
    ),
    Policy(
        "agreement",
        "How much agreement does a text express?",
        bodies.AgreementBody,
        bodies.AgreementAnswer,
        agreement,
        {"text": "A valid point, and I agree; however, the limit is a flaw."},
    ),
    Policy(
        "similarity",
        "How many of their words do two texts share?",
        bodies.SimilarityBody,
        bodies.SimilarityAnswer,
        similarity,
        {"a": "the limit is too low", "b": "the limit is fine", "profile": "seed"},
    ),
    Policy(
        "budget",
        "May another iteration begin?",
        bodies.BudgetBody,
        bodies.BudgetAnswer,
        budget,
        {
            "maxIterations": 6,
            "maxMinutes": 45,
            "startedAt": "2026-01-01T09:00:00.000Z",
            "iteration": 3,
            "now": "2026-01-01T09:20:00.000Z",
        },
    ),
    Policy(
        "validation",
        "Which commands validate an iteration?",
        bodies.ValidationBody,
        bodies.ValidationAnswer,
        plan_validation,
        {"validationCommands": ["ruff check .", "mypy", "python -m pytest"]},
    ),
    Policy(
        "parse",
        "What does an agent's reply say?",
        bodies.ParseBody,
        bodies.ParseAnswer,
        parse,
        {
            "kind": "verdicts",
            "text": '{"verdicts": [{"agent": "Backend", "pass": true, "feedback": ""}], "allDone": false}',
        },
    ),
    Policy(
        "prompt",
        "What is in an agent's prompt?",
        bodies.PromptBody,
        bodies.PromptAnswer,
        prompt,
        {"name": "critique", "strategy": "red-team", "language": "en"},
    ),
)


def _handler(policy: Policy[Any, Any]) -> Callable[[Request], Awaitable[Response]]:
    @remember_answers
    async def judged(request: Request) -> Response:
        return await policy.judge(await raw_body(request))

    judged.__name__ = f"policy_{policy.name}"
    judged.__doc__ = f"POST {policy.path}: {policy.summary}"
    return judged


HANDLERS = tuple((policy, _handler(policy)) for policy in POLICIES)
