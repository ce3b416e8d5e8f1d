"""What a worker does with one turn: ask the agent, run the validation, hand the work over.

Each returns the command that records the outcome. Faults of agents, commands and workspaces are outcomes, too.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

from adapters import processes
from adapters.agents import prompts
from adapters.agents.port import Agent, Reply, Turn
from adapters.agents.prompts import modes, phases
from adapters.agents.scripted import Scenario, Scripted
from adapters.store import Lease, SqliteStore
from adapters.team import Member, Team, build
from adapters.workspace import Workspace, Workspaces
from domain.base import Blob, Command, DomainEvent, HansardError, Text, Usage
from domain.delivery.commands import RecordPackage, RecordValidation
from domain.delivery.state import Delivery
from domain.forking import renamed, same_request
from domain.forks import Diverge, Reuse
from domain.instant import milliseconds
from domain.phases import phase_name
from domain.reconstruction import Decision, command_of, decisions
from domain.record import Recorded
from domain.replies.artifacts import changes
from domain.session import Moment, Session
from domain.sessions import fold
from domain.turns import AgentSessionsCleared, Failure, RecordReply, TurnAnswered, TurnFailed, TurnRequested
from domain.validation import CommandRun, Ended, Outcome, Step, outcome

log = logging.getLogger(__name__)

_ENDS: Mapping[str, Ended] = {"exit": "exited", "output": "limit", "timeout": "timeout", "idle": "idle"}
_TAIL = 4_000
FREE = Usage(input_tokens=0, output_tokens=0, cost_micros=0)
"""What a recalled answer costs."""
LANE = 1_000
"""More folders than a lane ever leaves behind."""


class BenchSettings(Protocol):
    """What the bench needs to know of the worker's settings."""

    @property
    def validation_timeout(self) -> float: ...
    @property
    def output_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Job:
    """A turn in hand: the lease, what was requested, and the session as it is."""

    lease: Lease
    request: TurnRequested
    session: Session

    @property
    def deadline(self) -> int | None:
        """The instant after which the turn is stopped, as the session has it now."""
        if self.request.deadline is None:
            return None
        if isinstance(self.session, Delivery):
            return self.session.budget.deadline_at
        return milliseconds(self.request.deadline)

    @property
    def slot(self) -> int:
        """How often a folder was left behind: a frozen earlier attempt may still be writing there."""
        return self.session.slot + self.lease.attempt - 1

    @property
    def folder(self) -> int:
        """The number of the folder: every lane has its own, so that agents can work at once."""
        return self.request.lane * LANE + self.slot


class Bench:
    """Where turns are done."""

    def __init__(
        self, *, store: SqliteStore, team: Team, workspaces: Workspaces, data_dir: Path, settings: BenchSettings
    ) -> None:
        self._store, self._team, self._workspaces = store, team, workspaces
        self._data_dir, self._settings = data_dir, settings
        self._agents: dict[str, Agent] = {}

    async def do(self, job: Job) -> Command:
        """The command that records what came of the turn; only a cancellation is raised."""
        started = time.monotonic()
        if job.session.reuse is not None and job.lease.work != "package":
            return await asyncio.to_thread(self._recall, job, job.session.reuse)
        doing: dict[str, Callable[[Job], Awaitable[Command]]] = {
            "ask": self._ask,
            "validate": self._validate,
            "package": self._package,
        }
        try:
            return await doing[job.lease.work](job)
        except HansardError as error:
            failure = Failure(code="crash", detail=str(error))
        except Exception as error:
            log.exception("turn %s broke", job.lease.turn_id)
            failure = Failure(code="crash", detail=f"{type(error).__name__}: {error}")
        return _failed(job, failure, seconds=time.monotonic() - started)

    # -- recalling -------------------------------------------------------------------------------------------------

    def _recall(self, job: Job, reuse: Reuse) -> Command:
        """The answer that the fork's source recorded to the same question, free; or that there is none."""
        history = self._store.history(reuse.source)
        asked = {
            renamed(recorded.event, source=reuse.source, fork=job.session.id).turn_id: recorded.event.turn_id
            for recorded in history
            if isinstance(recorded.event, TurnRequested) and self._asks_the_same(job, reuse, recorded.event)
        }
        turn_id = asked.get(job.request.turn_id) or next(iter(asked.values()), None)
        found = next((decision for decision in decisions(history) if _settles(decision, turn_id)), None)
        if found is None:
            return Diverge(turn_id=job.lease.turn_id)
        before = fold(job.session.kind, _until(history, found))
        command = command_of(found, before, self._whole)
        free = {"usage": FREE} if isinstance(command, RecordReply) else {}
        base = {"base": job.session.tree} if isinstance(command, RecordReply) else {}
        fenced = {"turn_id": job.lease.turn_id, "attempt": job.lease.attempt}
        return command.model_copy(update={**fenced, **free, **base})

    @staticmethod
    def _asks_the_same(job: Job, reuse: Reuse, request: TurnRequested) -> bool:
        return same_request(renamed(request, source=reuse.source, fork=job.session.id), job.request)

    # -- asking ----------------------------------------------------------------------------------------------------

    async def _ask(self, job: Job) -> Command:
        agent, prompt = self._agent(job), await asyncio.to_thread(self._prompt, job)
        folder = None if isinstance(agent, Scripted) else await asyncio.to_thread(self._checkout, job)
        reply = await agent.ask(self._turn(job, prompt, folder))
        return await asyncio.to_thread(self._keep, job, prompt, reply, folder)

    def _agent(self, job: Job) -> Agent:
        if job.session.scenario is not None:
            return Scripted(Scenario())  # the turn brings the session's own scenario
        name = job.request.agent
        member = self._team.agent_for(name) or self._team.agent_for(job.request.role)
        if member is None:
            raise HansardError(f"Nobody in the team is called {name!r} or has the role {job.request.role!r}.")
        return self._built(member)

    def _built(self, member: Member) -> Agent:
        if member.name not in self._agents:
            self._agents[member.name] = build(member, self._data_dir / "agents")
        return self._agents[member.name]

    def _prompt(self, job: Job) -> str:
        name, _, strategy = job.request.prompt.partition("@")[0].partition(".")
        language = self._team.language or "en"
        chosen = prompts.prompt(name, strategy=strategy or None, language=language)
        words = {place: self._whole(text) for place, text in job.request.context.items()}
        return prompts.render(chosen, {**words, **_spelled_out(words, language)})

    def _whole(self, text: Text) -> str:
        if text.digest is None:
            return text.head
        return self._store.text(text.digest) or text.head

    def _turn(self, job: Job, prompt: str, folder: Path | None) -> Turn:
        request, lease = job.request, job.lease
        scenario = job.session.scenario
        return Turn(
            turn_id=request.turn_id,
            session_id=job.session.id,
            attempt=lease.attempt,
            agent=request.agent,
            role=request.role,
            prompt=prompt,
            workspace=folder,
            access=request.access,
            agent_session=request.agent_session,
            ordinal=request.ordinal,
            role_ordinal=request.role_ordinal,
            limits=self._team.limits.of_a_turn(),
            scenario=orjson.loads(self._whole(scenario)) if scenario is not None else None,
            reads=request.reads,
            expects=request.expects,
        )

    def _workspace(self, job: Job) -> Workspace:
        """Blocks: the first time it copies the person's repository."""
        session = job.session
        if session.forked_from is not None:
            self._workspaces.copy(session.forked_from, session.id)
        return self._workspaces.open(session.home or session.id, _source(session))

    def _checkout(self, job: Job) -> Path:
        return self._workspace(job).checkout(tree=job.session.tree, slot=job.folder)

    def _keep(self, job: Job, prompt: str, reply: Reply, folder: Path | None) -> Command:
        """Write the files an agent handed over, record the state of the folder, and answer."""
        files: tuple[str, ...] = ()
        tree, patch = None, None
        blobs: list[Blob] = []
        if job.request.access == "write" and reply.failure is None:
            contents = {**_contents(job, reply.text), **reply.files}
            if contents and folder is None:
                folder = self._checkout(job)
            if folder is not None:
                workspace = self._workspace(job)
                workspace.write_files(folder, contents)
                before = job.session.tree or workspace.base()
                tree = workspace.snapshot(folder, message=f"{job.request.agent}: {job.request.turn_id}", parent=before)
                files = workspace.changed_files(before, tree)
                patch = _text(workspace.patch(before, tree), blobs)
        return RecordReply(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            reply=_text(reply.text, blobs),
            prompt=_text(prompt, blobs),
            usage=reply.usage,
            seconds=reply.seconds,
            agent_session=reply.agent_session,
            files=files,
            patch=patch,
            base=job.session.tree,
            tree=tree,
            slot=job.slot,
            failure=reply.failure,
            blobs=tuple(blobs),
        )

    def merge(self, job: Job, command: RecordReply, session: Session) -> RecordReply:
        """The answer on top of what others have recorded meanwhile; a failure where both changed the same lines."""
        workspace = self._workspace(job)
        theirs = session.tree or workspace.base()
        assert command.tree is not None, "only changes can be overtaken"
        try:
            merged = workspace.merge(ours=theirs, theirs=command.tree, message=f"merge {command.turn_id}")
        except HansardError as error:
            failure = Failure(code="crash", detail=str(error))
            return command.model_copy(update={"failure": failure, "tree": None, "patch": None, "files": ()})
        return command.model_copy(update={"tree": merged, "base": session.tree})

    async def forget(self, event: AgentSessionsCleared) -> None:
        """Drop what agents keep to resume conversations that are over."""
        for name, handle in event.agent_sessions.items():
            member = self._team.agent_for(name)
            if member is not None:
                with contextlib.suppress(HansardError, OSError):
                    await self._built(member).forget(handle)

    # -- validating ------------------------------------------------------------------------------------------------

    async def _validate(self, job: Job) -> Command:
        assert isinstance(job.session, Delivery), "only deliveries validate"
        started = time.monotonic()
        folder = await asyncio.to_thread(self._checkout, job)
        runs: list[CommandRun] = []
        outputs: list[processes.Finished] = []
        for step in job.session.steps:
            finished = await self._run(step, folder, job.session.id)
            runs.append(_run_of(step, finished))
            outputs.append(finished)
            if not runs[-1].passed:
                break
        result = outcome(runs)
        report, blobs = Text.of(_report(result, outputs))
        return RecordValidation(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            passed=result.passed,
            classification=result.failure_class,
            summary=result.summary,
            report=report,
            seconds=time.monotonic() - started,
            slot=job.slot,
            blobs=blobs,
        )

    async def _run(self, step: Step, folder: Path, session_id: str) -> processes.Finished:
        home = self._data_dir / "homes" / session_id
        home.mkdir(parents=True, exist_ok=True)
        return await processes.run(
            step.argv,
            cwd=folder,
            env=processes.clean_environment(home=home),
            wall_seconds=self._settings.validation_timeout,
            output_bytes=self._settings.output_bytes,
        )

    # -- handing over ----------------------------------------------------------------------------------------------

    async def _package(self, job: Job) -> Command:
        return await asyncio.to_thread(self._publish, job)

    def _publish(self, job: Job) -> Command:
        """The work as a patch and, in the person's repository, a branch; their checkout stays as it is."""
        workspace = self._workspace(job)
        base = workspace.base()
        commit = job.session.tree or base
        blobs: list[Blob] = []
        branch, problem = f"hansard/{job.session.id}", None
        try:
            published = workspace.publish(commit, branch)
        except HansardError as error:
            published, problem = False, f"The branch {branch} could not be made: {error}"
        return RecordPackage(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            branch=branch if published else None,
            commit=commit if published else None,
            patch=_text(workspace.patch(base, commit), blobs),
            problem=problem,
            slot=job.slot,
            blobs=tuple(blobs),
        )


def _settles(decision: Decision, turn_id: str | None) -> bool:
    first = decision.events[0]
    return isinstance(first, TurnAnswered | TurnFailed) and first.turn_id == turn_id


def _until(history: list[Recorded], decision: Decision) -> Iterator[tuple[DomainEvent, Moment]]:
    first = decision.recorded[0].version
    return ((recorded.event, recorded.moment) for recorded in history if recorded.version < first)


def _spelled_out(words: Mapping[str, str], language: str) -> dict[str, str]:
    """What the request names by number or word, in the language of the prompt."""
    spelled = {}
    if number := words.get("phase_number"):
        spelled["phase_name"] = phase_name(int(number), "ko" if language == "ko" else "en")
        spelled["phase_instruction"] = phases.phase_instruction(int(number), language)
        spelled["remaining_phases"] = phases.remaining_phases(_numbers(words["remaining_phases"]), language)
        spelled["mode"] = modes.work_mode("parallel" if words["mode"] == "parallel" else "sequential", language)
        if not words["previous_results"] and words["mode"] != "parallel":
            spelled["previous_results"] = modes.first_agent(language)
    if rubric := words.get("rubric"):
        spelled["rubric"] = "\n\n".join(phases.rubric(number, language) for number in _numbers(rubric))
    return spelled


def _numbers(words: str) -> list[int]:
    return [int(part) for part in words.split(",") if part]


def _source(session: Session) -> Path | None:
    return Path(session.workspace) if session.workspace else None


def _text(words: str, blobs: list[Blob]) -> Text:
    text, more = Text.of(words)
    blobs.extend(more)
    return text


def _contents(job: Job, words: str) -> dict[str, str]:
    """The files that stand in a developer's answer (S4: a change brings its content, or one to fall back on)."""
    if job.request.role != "dev":
        return {}
    found = {change.path: change.content or change.fallback_content for change in changes(words)}
    return {path: content for path, content in found.items() if content is not None}


def _run_of(step: Step, finished: processes.Finished) -> CommandRun:
    return CommandRun(
        stage=step.stage,
        command=step.command,
        argv=step.argv,
        exit_code=finished.exit_code if finished.exit_code is not None else -1,
        seconds=round(finished.seconds, 3),
        ended=_ENDS.get(finished.ended, "not_started"),
        stdout=Text.of(finished.stdout)[0],
        stderr=Text.of(finished.stderr or finished.detail)[0],
        truncated=finished.truncated,
        tail=(finished.stdout + finished.stderr)[-_TAIL:],
    )


def _report(result: Outcome, outputs: list[processes.Finished]) -> str:
    """The validation as an artifact (JSON): every command with its whole output, up to the output limit."""
    runs = [
        {
            "stage": run.stage,
            "command": run.command,
            "argv": run.argv,
            "exitCode": run.exit_code,
            "seconds": run.seconds,
            "ended": run.ended,
            "truncated": run.truncated,
            "detail": finished.detail,
            "stdout": finished.stdout,
            "stderr": finished.stderr,
        }
        for run, finished in zip(result.runs, outputs, strict=True)
    ]
    whole = {"passed": result.passed, "classification": result.failure_class, "summary": result.summary, "runs": runs}
    return orjson.dumps(whole).decode()


def _failed(job: Job, failure: Failure, *, seconds: float) -> Command:
    common = {"turn_id": job.lease.turn_id, "attempt": job.lease.attempt, "failure": failure, "seconds": seconds}
    match job.lease.work:
        case "validate":
            return RecordValidation(passed=False, **common)
        case "package":
            return RecordPackage(**common)
        case _:
            return RecordReply(**common)
