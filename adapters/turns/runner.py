"""Does one turn for a worker: the agent is asked, the commands run, or the work is published.

Each function returns the command that records the outcome. Failures of agents, commands and workspaces are outcomes,
too. A fork reuses the answers of its source instead of asking again.
"""

import asyncio
import contextlib
import logging
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from adapters.agents.port import Reply
from adapters.agents.team import Team, build
from adapters.store.port import Store
from adapters.store.texts import whole
from adapters.turns.commands.clock import BudgetClock
from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.host import Commands, HostCommands
from adapters.turns.commands.prepare import left_to_do
from adapters.turns.commands.run import ValidationSettings
from adapters.turns.folder import checkout, judged, left
from adapters.turns.job import Job
from adapters.turns.live import Live
from adapters.turns.people_commits import with_commits_of_claim, with_people_commits
from adapters.turns.question.ask import Asking, Build
from adapters.turns.question.permissions import Questions
from adapters.turns.question.prompt import judged_place, material
from adapters.turns.question.shown_changes import changes_of
from adapters.turns.recall import recall
from adapters.turns.result.changes import base_of, merge
from adapters.turns.result.publication import publish
from adapters.turns.result.shared_workspaces import Sharing
from adapters.workspace import Lasting, WorkspaceError, Workspaces
from adapters.writer.writer import Writer
from domain.delivery.commands import RecordBaseline, RecordValidation
from domain.delivery.state import Delivery
from domain.orchestration.commands import RecordRound
from domain.orchestration.state import Orchestration
from domain.session.attempts import Failure
from domain.session.landing import RecordLanding
from domain.session.state import Session
from domain.session.turns import (
    AgentSessionsCleared,
    RecordPackage,
    RecordReply,
    RecordTurn,
)
from domain.values.base import Command, HansardError
from domain.values.sentences import sentence_of

CommandType = TypeVar("CommandType", bound=Command)
log = logging.getLogger(__name__)


class Prepared(NamedTuple):
    """The things that an agent gets: the prompt, its sections, the folder to work in, if any, the variables for its
    programs, and the set-up commands that have not run in this folder."""

    prompt: str
    context: dict[str, str]
    folder: Path | None
    env: dict[str, str]
    setup: list[list[str]]


class TurnRunner:
    """The one who does turns."""

    def __init__(
        self,
        *,
        store: Store,
        team: Team,
        workspaces: Workspaces,
        data_dir: Path,
        settings: ValidationSettings,
        live: Live,
        build: Build = build,
        commands: "Commands | None" = None,
        questions: Questions | None = None,
        sharing: Sharing | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Without a `writer`, no clock of a budget is stopped."""
        self._store, self._workspaces, self._sharing = store, workspaces, sharing
        secrets = (*settings.keys, *team.secrets())
        self._fencing = Fencing(settings.sandbox, log=settings.log, private=data_dir, secrets=secrets)
        self._asking = Asking(
            team=team,
            workspaces=workspaces,
            fencing=self._fencing,
            folder=data_dir / "agents",
            whole=partial(whole, store),
            history=store.history,
            live=live,
            build=build,
            questions=questions,
        )
        self._commands = commands or HostCommands(
            workspaces=workspaces,
            homes=data_dir / "homes",
            fencing=self._fencing,
            settings=settings,
            live=live,
            clock=BudgetClock(writer, live.clock),
        )

    def with_question(self, job: Job) -> Job:
        """The job with what its agent is asked, if that needs no workspace. Blocks."""
        return job if self._sharing is not None else self._asking.with_question(job)

    async def do(self, job: Job) -> Command:
        """The command that records the outcome of the turn. Only a cancellation is raised."""
        command = await self._outcome(job)
        if _begins_workspace(job, command):
            with contextlib.suppress(HansardError, OSError):
                command = await asyncio.to_thread(self._with_base, job, command)
        if self._sharing is None:
            return command
        try:
            return await asyncio.to_thread(self._share_first, job, command)
        except (HansardError, OSError) as error:
            return failed(job, Failure.of("workspace", sentence_of(error)), seconds=0.0)

    def _bring(self, job: Job) -> None:
        """Make sure that the workspace is here, with everything that was recorded on any machine. Raises
        HansardError."""
        if self._sharing is not None:
            self._sharing.bring(job.session, job.load)

    def _share_first(self, job: Job, command: CommandType) -> CommandType:
        """The command, once other machines could continue after it. Raises HansardError or OSError."""
        if self._sharing is not None:
            self._sharing.keep(job.session, getattr(command, "tree", None))
        return command

    def _with_base(self, job: Job, command: Command) -> Command:
        """The first outcome after the workspace was made records its start."""
        base = base_of(job, self._workspaces) if isinstance(command, RecordTurn) else None
        return command if base is None else command.model_copy(update={"prepared": base})

    async def _outcome(self, job: Job) -> Command:
        now = asyncio.get_running_loop().time
        started = now()
        reuse = job.session.reuse
        if reuse is not None and job.lease.work not in ("package", "land"):
            return await asyncio.to_thread(recall, job, reuse, self._store, partial(whole, self._store))
        try:
            return await self._done(job)
        except Lasting as error:
            failure = Failure.of("refused", sentence_of(error))
        except WorkspaceError as error:
            failure = Failure.of("workspace", sentence_of(error))
        except HansardError as error:
            failure = Failure.of("crash", sentence_of(error))
        except Exception as error:  # whatever happened, the turn has failed; otherwise its session would wait forever
            log.exception("turn %s broke", job.lease.turn_id)
            failure = Failure.of("crash", f"{type(error).__name__}: {error}")
        return failed(job, failure, seconds=now() - started)

    async def _done(self, job: Job) -> Command:
        if self._sharing is not None:
            await asyncio.to_thread(self._bring, job)
        match job.lease.work:
            case "prepare":
                return await self._commands.prepare(job)
            case "validate":
                return await self._commands.validate(job)
            case "land":
                return await self._commands.land(job)
            case "package":
                return await publish(job, self._workspaces, self._fencing.around, self._commands.check_merged)
            case _:
                async with self._commands.ready(job, services=self._asking.wants_services(job)) as (failure, prepared):
                    if failure is not None:
                        return failed(job, failure, seconds=0.0)
                    return await self._asking.ask(prepared)

    def prepared(self, job: Job) -> Prepared:
        """Everything that an agent needs that is asked elsewhere. Raises HansardError if it cannot be asked."""
        self._bring(job)
        job = with_people_commits(job, self._workspaces)
        changes = changes_of(job, self._workspaces).text if judged_place(job.request) else ""
        context = material(
            job.request, whole=partial(whole, self._store), changes=changes, before=self._asking.said_before(job)
        )
        if job.request.access == "none":
            return Prepared(self._asking.prompt(job).text, context, None, {}, [])
        folder = (checkout if job.request.access == "write" else judged)(job, self._workspaces)
        env, setup = left_to_do(job, self._workspaces, folder)
        return Prepared(self._asking.prompt(job).text, context, folder, env, setup)

    def answered(self, job: Job, reply: Reply) -> RecordReply:
        """The command that records the reply from there. Raises HansardError if it cannot be kept."""
        job = with_commits_of_claim(job, self._workspaces)
        folder = None if job.request.access == "none" else left(job, self._workspaces)
        command = self._asking.answer(job, self._asking.prompt(job), reply, folder)
        return self._share_first(job, command.model_copy(update={"prepared": base_of(job, self._workspaces)}))

    def merge(self, job: Job, command: RecordReply, session: Session) -> RecordReply:
        """The answer, merged with what others have recorded meanwhile; a failure if both changed the same lines."""
        self._bring(job)
        return self._share_first(job, merge(job, self._workspaces, command, session))

    async def forget(self, event: AgentSessionsCleared) -> None:
        """Delete what agents keep to resume conversations that are over."""
        await self._asking.forget(event)


def _begins_workspace(job: Job, command: Command) -> bool:
    """True if it may be the first outcome since the workspace was made. A question without files does not use it."""
    if job.session.base is not None or not isinstance(job.session, Delivery | Orchestration):
        return False
    return not isinstance(command, RecordReply) or job.request.access != "none" or command.tree is not None


def failed(job: Job, failure: Failure, *, seconds: float) -> Command:
    """The command that records that the turn has no usable outcome."""
    common = {"turn_id": job.lease.turn_id, "attempt": job.lease.attempt, "failure": failure, "seconds": seconds}
    match job.lease.work:
        case "prepare":
            return RecordBaseline(**common)
        case "validate":
            if isinstance(job.session, Orchestration):
                return RecordRound(**common)
            return RecordValidation(passed=False, **common)
        case "package":
            return RecordPackage(**common)
        case "land":
            return RecordLanding(**common)
        case _:
            return RecordReply(**common)
