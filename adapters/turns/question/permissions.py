"""Answers requests for permission by agents that run here: by the rules, by a remembered answer, or by a person."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final

from adapters.agents.activity import PATHS, Activity, Status, Tool
from adapters.agents.permissions import PermissionRules
from adapters.store.errors import Fenced, StoreError
from adapters.turns.job import Job
from adapters.turns.live import RunningAttempt
from adapters.writer.unit_of_work import CommandEnvelope
from adapters.writer.writer import Busy, Writer
from domain.session.permissions import (
    LONGEST_TITLE,
    PermissionChoice,
    PermissionDecided,
    PermissionWithdrawn,
    RequestPermission,
    WithdrawPermissions,
    permission_id,
    permission_subject,
)
from domain.session.record import Recorded
from domain.session.turns import FenceLevel
from domain.values.base import Refused, Unknown

log = logging.getLogger(__name__)
_STATUS: Final[Mapping[PermissionChoice, Status]] = {"allow": "completed", "deny": "denied"}


class Questions:
    """The requests that wait in this process. All its methods belong to the worker's event loop."""

    def __init__(self, rules: PermissionRules, writer: Writer) -> None:
        self.rules, self.writer = rules, writer
        self._waiting: Counter[str] = Counter()
        self._answers: dict[str, asyncio.Future[PermissionChoice]] = {}

    @property
    def turns(self) -> int:
        """The number of turns that wait for a person: they use no slot."""
        return len(self._waiting)

    def permit(self, job: Job, attempt: RunningAttempt) -> "TurnPermit":
        """Answers the agent of one attempt."""
        return TurnPermit(self, job, attempt)

    def seen(self, page: Sequence[Recorded]) -> None:
        """New events: answers, and withdrawn requests."""
        for recorded in page:
            match recorded.event:
                case PermissionDecided() as event if event.turn_id in self._waiting:
                    self._answer(event.request_id, event.decision)
                case PermissionWithdrawn() as event if event.turn_id in self._waiting:
                    self._answer(event.request_id, "deny")

    async def withdraw(self, job: Job) -> None:
        """The turn was just claimed, so its previous process is gone."""
        turn_id = job.lease.turn_id
        if not any(question.turn_id == turn_id for question in job.session.questions.values()):
            return
        command = WithdrawPermissions(turn_id=turn_id)
        envelope = CommandEnvelope(
            job.session.id, command, actor="clock", command_id=f"{turn_id}#{job.lease.attempt}/withdrawn"
        )
        try:
            await self.writer.do(envelope)
        except (Refused, Unknown) as late:
            log.info("nothing is withdrawn of %s: %s", turn_id, late)

    @contextmanager
    def waiting(self, turn_id: str) -> Iterator[None]:
        self._waiting[turn_id] += 1
        try:
            yield
        finally:
            self._waiting[turn_id] -= 1
            if not self._waiting[turn_id]:
                del self._waiting[turn_id]

    async def answer(self, request_id: str) -> PermissionChoice:
        """A person's answer, once it is there."""
        try:
            return await self._future(request_id)
        finally:
            self._answers.pop(request_id, None)

    def _answer(self, request_id: str, decision: PermissionChoice) -> None:
        """The answer may arrive before the asker knows the request's id."""
        future = self._future(request_id)
        if not future.done():
            future.set_result(decision)

    def _future(self, request_id: str) -> asyncio.Future[PermissionChoice]:
        return self._answers.setdefault(request_id, asyncio.get_running_loop().create_future())


class TurnPermit:
    """The permissions of one attempt (`Permit`)."""

    def __init__(self, questions: Questions, job: Job, attempt: RunningAttempt) -> None:
        self._questions, self._job, self._attempt = questions, job, attempt
        self._numbers = count(1)

    async def __call__(
        self, tool: Tool, title: str, paths: Sequence[str] = (), *, fence: FenceLevel | None = None
    ) -> PermissionChoice:
        question = Activity(kind="permission", tool=tool, title=title, paths=tuple(paths)[:PATHS], status="running")
        verdict = self._questions.rules.verdict(tool, title, fenced=fence not in (None, "none"))
        if verdict == "ask":
            verdict = await self._remembered(question) or "ask"
        if verdict == "ask" and len(title) > LONGEST_TITLE:
            verdict = "deny"  # a person cannot judge what is not shown completely
        if verdict == "ask":
            return await self._ask_person(question)
        self._attempt.observe(question.changed(status=_STATUS[verdict]))
        return verdict

    async def _remembered(self, question: Activity) -> PermissionChoice | None:
        session = await asyncio.to_thread(self._questions.writer.load, self._job.session.id)
        subject = permission_subject(self._job.turn.agent, question.tool or "other", question.title or "")
        return session.remembered.get(subject) if session else None

    async def _ask_person(self, question: Activity) -> PermissionChoice:
        """A person's answer; denied if the request cannot be recorded."""
        lease, questions = self._job.lease, self._questions
        command = RequestPermission(
            turn_id=lease.turn_id,
            attempt=lease.attempt,
            tool=question.tool or "other",
            title=question.title or "",
            paths=question.paths,
        )
        envelope = CommandEnvelope(
            lease.session_id,
            command,
            actor=f"agent:{self._job.turn.agent}",
            command_id=f"{lease.turn_id}#{lease.attempt}/permission-{next(self._numbers)}",
            causation_id=f"{lease.session_id}:{lease.version}",
        )
        with questions.waiting(lease.turn_id):
            try:
                answer = await questions.writer.do(envelope)
            except (Refused, Unknown, Fenced, StoreError, Busy) as error:
                log.warning("a question of %s could not be asked: %s", lease.turn_id, error)
                self._attempt.observe(question.changed(status="denied"))
                return "deny"
            question = question.changed(id=permission_id(lease.turn_id, answer.version))
            self._attempt.observe(question)
            decision = await questions.answer(str(question.id))
        self._attempt.observe(question.changed(status=_STATUS[decision]))
        return decision
