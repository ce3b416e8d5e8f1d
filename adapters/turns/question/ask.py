"""Asks an agent: which one, its prompt, its folder, and its answer."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from adapters.agents.attempt import UNKNOWN
from adapters.agents.model.agent import ModelAgent
from adapters.agents.permissions import deny
from adapters.agents.port import Agent, Reply, Turn
from adapters.agents.prompts import catalogue as prompts
from adapters.agents.prompts.context import again, of_person
from adapters.agents.prompts.conversation import Exchange, recap
from adapters.agents.scripted import Scripted
from adapters.agents.team import Member, Team
from adapters.fence.port import Grant
from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.prepare import environment
from adapters.turns.conversation import said_before
from adapters.turns.folder import checkout, judged, workspace_of
from adapters.turns.job import Job, RenderedPrompt
from adapters.turns.live import Live, RunningAttempt
from adapters.turns.people_commits import with_people_commits
from adapters.turns.question.permissions import Questions
from adapters.turns.question.prompt import judged_place, prompt_of, recorded_prompt
from adapters.turns.question.revisions import comments_in, places_of_comments, touched_comments
from adapters.turns.question.shown_changes import NO_CHANGES, changes_of
from adapters.turns.result.changes import NOTHING, keep, text
from adapters.turns.result.team_secrets import secrets_of
from adapters.turns.turn_usage import keep_usage
from adapters.workspace import Workspaces
from adapters.workspace.git import identity_of
from domain.discussion.findings import content_of
from domain.discussion.state import Discussion
from domain.session.attempts import SUBSTITUTED, Failure
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.turns import AgentSessionsCleared, RecordReply, TurnAnswered, TurnAttemptFailed
from domain.values.base import Command, HansardError, Unreadable, changed
from domain.values.sentences import Sentence, in_language, sentence_of
from domain.values.words import Language, thread_name

History = Callable[[str], Sequence[Recorded]]
"""The events of a session."""
SHORT: Final = 100_000
"""Texts up to this length are handled without a separate thread."""
Build = Callable[[Member, Path], Agent]
"""Creates the agent of a team member; it keeps its own data below the folder."""


class Asking:
    """The team's agents, each created when it is first asked. `folder` is where they keep their own data."""

    def __init__(
        self,
        *,
        team: Team,
        workspaces: Workspaces,
        fencing: Fencing,
        folder: Path,
        whole: Whole,
        history: History,
        live: Live,
        build: Build,
        questions: Questions | None = None,
    ) -> None:
        self._team, self._workspaces, self._folder, self._whole, self._build = team, workspaces, folder, whole, build
        self._fencing, self._history, self._live = fencing, history, live
        self._agents: dict[tuple[str, str | None], Agent] = {}
        self._questions = questions

    async def ask(self, job: Job) -> Command:
        job = await asyncio.to_thread(with_people_commits, job, self._workspaces) if job.session.published else job
        agent = self._agent(job)
        question = job.question
        turn, rendered = await asyncio.to_thread(self._prepared, job, agent) if question is None else question
        with self._live.running(job.lease.turn_id, job.lease.attempt) as attempt:
            permit = self._questions.permit(job, attempt) if self._questions else deny
            watched = changed(
                turn, observe=attempt.observe, transcribe=attempt.transcribe, meter=attempt.meter, permit=permit
            )
            async with contextlib.nullcontext() if self._live.turns is None else keep_usage(self._live.turns, attempt):
                reply = await agent.ask(watched)
        if job.request.access != "write" and len(reply.text) < SHORT:  # only the words are kept
            return self.answer(job, rendered, reply, turn.workspace, attempt)
        return await asyncio.to_thread(self.answer, job, rendered, reply, turn.workspace, attempt)

    def with_question(self, job: Job) -> Job:
        """The job with its question, if making that needs no workspace. Blocks; called where the turn is claimed, it
        saves a thread's round trip."""
        if (
            job.lease.work != "ask"
            or job.session.reuse is not None
            or judged_place(job.request)
            or comments_in(job.request, job.session)
        ):
            return job
        with contextlib.suppress(HansardError):  # raised again where the turn is done
            agent = self._agent(job)
            if isinstance(agent, Scripted | ModelAgent):
                return changed(job, question=self._prepared(job, agent))
        return job

    def _prepared(self, job: Job, agent: Agent) -> tuple[Turn, RenderedPrompt]:
        """The question, with the folder to work in if the agent uses one. Blocks."""
        rendered = self.prompt(job)
        folder = None if isinstance(agent, Scripted | ModelAgent) else self._folder_of(job)
        return self._turn(job, rendered.text, folder), rendered

    def _folder_of(self, job: Job) -> Path:
        """The folder to work in, or to read in."""
        return checkout(job, self._workspaces) if job.request.access == "write" else judged(job, self._workspaces)

    async def forget(self, event: AgentSessionsCleared) -> None:
        """Delete what agents keep to resume conversations that are over."""
        for name, handle in event.agent_sessions.items():
            member = self._team.named(name) or self._team.named(name.rpartition(" (")[0])
            if member is not None:
                with contextlib.suppress(HansardError, OSError):
                    await self._built(member).forget(handle)

    def _agent(self, job: Job) -> Agent:
        if job.session.scenario is not None:
            return _SCRIPTED  # the turn contains the session's own scenario
        member = self._member_for(job)
        if member is None:
            raise HansardError(Sentence("agent_not_in_team", agent=job.turn.agent))
        return self._built(member)

    def _member_for(self, job: Job) -> Member | None:
        session, turn = job.session, job.turn
        member = self._team.member_for(turn.agent, turn.role, session.crew, session.recast)
        return member and member.with_model(session.models.get(member.name))

    def wants_services(self, job: Job) -> bool:
        """Returns whether the agent's settings say that the services of the workspace run beside it."""
        member = self._member_for(job) if job.session.scenario is None else None
        return member is not None and getattr(member.settings, "services", False) is True

    def _model(self, job: Job) -> str | None:
        """The agent's entry in the team file, or what a fork chose; a session's own scenario replaces other agents."""
        if job.session.scenario is not None:
            return job.session.models.get(job.turn.agent)
        member = self._member_for(job)
        return member.model if member else None

    def _built(self, member: Member) -> Agent:
        name = (member.name, member.model)
        if name not in self._agents:
            self._agents[name] = self._build(member, self._folder)
        return self._agents[name]

    def prompt(self, job: Job) -> RenderedPrompt:
        """The agent's prompt. If its last answer was unreadable, the prompt names the problem."""
        changes = changes_of(job, self._workspaces) if judged_place(job.request) else NO_CHANGES
        language = prompts.checked(self._team.language or "en")
        read, before = partial(content_of, job.session, whole=self._whole), self.said_before(job)
        places = places_of_comments(job, self._workspaces)
        whole = prompt_of(
            job.request, job.session, language=language, whole=read, changes=changes, before=before, places=places
        )
        problem = in_language(job.turn.tries.problem, language)
        lead = [*([again(problem, language)] if problem else ()), *self._said_by_people(job, language)]
        return RenderedPrompt("\n\n".join([*lead, whole.text]), None, whole.reviewed) if lead else whole

    def _said_by_people(self, job: Job, language: Language) -> list[str]:
        """Returns what persons have said since an agent was last told."""
        words = tuple(dict.fromkeys((*job.turn.heard, *job.session.unheard)))
        by = {each.version: each.causation.actor for each in self._history(job.session.id)} if words else {}
        quoted = []
        for each in words:
            text, person = (each.words, by[each.version]) if each.child is None else _decided(job, each.child)
            if text.strip() not in ("", SUBSTITUTED):
                quoted.append(of_person(each.occasion, text, person.removeprefix("person:"), language))
        return quoted

    def said_before(self, job: Job) -> str:
        """The earlier messages of the conversation."""
        return said_before(job.session, job.load, job.request, self._team.language or "en")

    def _turn(self, job: Job, prompt: str, folder: Path | None) -> Turn:
        request, lease = job.request, job.lease
        scenario, writes = job.session.scenario, request.access == "write"
        return Turn(
            turn_id=request.turn_id,
            session_id=job.session.id,
            attempt=lease.attempt,
            agent=job.turn.agent,
            role=request.role,
            prompt=prompt,
            workspace=folder,
            access=request.access,
            agent_session=self._thread(job),
            ordinal=job.turn.ordinal,
            role_ordinal=job.turn.role_ordinal,
            limits=self._team.limits.of_a_turn(),
            comments=tuple(each.comment_id for each in comments_in(request, job.session)) if writes else (),
            scenario=self._whole(scenario) if scenario is not None else None,
            reads=request.reads,
            expects=request.expects,
            env=self._env(job, folder),
            grant=self._grant(job, folder),
            fence=self._fencing.around,
            recap=partial(self._recap, job),
            exchanges=partial(self._exchanges, job),
        )

    def _env(self, job: Job, folder: Path | None) -> dict[str, str]:
        if folder is None:
            return {}
        workspace = workspace_of(job, self._workspaces)
        env = environment(job, workspace, workspace.tree_of(folder), identity=identity_of(job.turn.agent))
        return {**env, **(job.site.env if job.site else {})}

    def _grant(self, job: Job, folder: Path | None) -> Grant:
        if folder is None:
            return Grant()
        grant = self._fencing.grant(workspace_of(job, self._workspaces), folder, job.preparation.link)
        return grant if job.site is None else job.site.around(grant, services=self.wants_services(job))

    def _thread(self, job: Job) -> str | None:
        """The conversation to resume: of the agent in this role, or of the agent in any role, depending on the team
        file."""
        turn, threads = job.turn, job.session.agent_sessions
        if turn.tries.new_conversation:
            return None
        member = self._member_for(job)
        if member is not None and member.conversation == "agent":
            own = [handle for name, handle in threads.items() if name.startswith(f"{turn.agent} (")]
            if own:
                return own[-1]
        thread = threads.get(thread_name(turn.agent, turn.role))
        return thread or (job.request.agent_session if turn.agent == job.request.agent else None)

    def _recap(self, job: Job) -> str:
        return recap(self._exchanges(job), self._team.language or "en")

    def _exchanges(self, job: Job) -> list[Exchange]:
        """The agent's questions and answers in this session so far, including unreadable ones, which its next question
        mentions."""
        member = self._member_for(job)
        any_role = member is not None and member.conversation == "agent"
        return [
            Exchange(self._whole(event.prompt), self._whole(event.reply), event.turn_id)
            for recorded in self._history(job.session.id)
            if isinstance(event := recorded.event, TurnAnswered | TurnAttemptFailed)
            and (isinstance(event, TurnAnswered) or event.next == "repair")
            and event.agent == job.turn.agent
            and (any_role or event.role == job.request.role)
        ]

    def answer(
        self,
        job: Job,
        rendered: RenderedPrompt,
        reply: Reply,
        folder: Path | None,
        attempt: RunningAttempt | None = None,
    ) -> RecordReply:
        """The command that records the reply, and what it changed in the working folder, if any."""
        failure = reply.failure or _wordless(reply, attempt)
        changes, secrets = NOTHING, secrets_of(self._team)
        touched: tuple[str, ...] = ()
        if job.request.access == "write" and failure is None:
            try:
                model = reply.model or self._model(job)
                changes = keep(job, self._workspaces, reply, folder, model=model, secrets=secrets)
                touched = touched_comments(job, self._workspaces, tree=changes.tree, files=changes.files)
            except Unreadable as problem:
                failure = Failure.of("unreadable", sentence_of(problem)).rewritten(secrets.scrub)
        activity, transcript = (attempt and attempt.activity()) or (None, ())
        blobs = list(transcript)
        lease = job.lease
        lost = job.turn.tries.new_conversation and reply.new_conversation is None and failure is None
        if reply.prompt:
            rendered = RenderedPrompt(reply.prompt, None, rendered.reviewed)
        prompt = recorded_prompt(rendered, session_id=lease.session_id, version=lease.version, blobs=blobs)
        return RecordReply(
            turn_id=lease.turn_id,
            attempt=lease.attempt,
            reply=text(secrets.scrub(reply.text), blobs),
            prompt=prompt,
            usage=attempt.usage() if attempt and reply.usage == UNKNOWN else reply.usage,
            model=reply.model or self._model(job),
            seconds=reply.seconds,
            agent_session=reply.agent_session,
            resumed=False if lost else reply.resumed,
            new_conversation=_LOST if lost else reply.new_conversation,
            files=changes.files,
            patch=None if changes.patch is None else text(changes.patch, blobs),
            base=job.session.tree,
            people=job.people,
            tree=changes.tree,
            changes=changes.since_base,
            reviewed=rendered.reviewed,
            touched_comments=touched,
            slot=job.slot,
            failure=failure,
            activity=activity,
            fence=reply.fence,
            fence_gaps=reply.fence_gaps,
            refused_hosts=(*job.refusals.hosts(), *reply.refused_hosts),
            blobs=tuple(blobs),
        )


_SCRIPTED: Final = Scripted()
_LOST: Final = "The conversation was lost."
"""The reason why an attempt begins a new one after another has failed for that."""


def _decided(job: Job, child: str) -> tuple[str, str]:
    """Returns why a person decided a review or debate as they did, and who."""
    session = job.load(child)
    decision = session.decision if isinstance(session, Discussion) else None
    if decision is None:
        return "", ""
    remarks = [f"{each.place}: {each.text}" if each.place else each.text for each in decision.comments]
    return "\n\n".join(filter(None, (decision.rationale, *remarks))), decision.actor


def _wordless(reply: Reply, attempt: RunningAttempt | None) -> Failure | None:
    """An agent that ends without a text after a denial has given no readable answer."""
    if attempt is None or not attempt.denied or reply.text.strip():
        return None
    return Failure.of("unreadable", Sentence("no_words_after_denial"))
