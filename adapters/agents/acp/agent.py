"""The ACP agent: a program that speaks the Agent Client Protocol, version 1, in a separate process for each turn.

It is confined like a command, and its conversation is kept and resumed in the same way: in a private home, by the id
that the agent gave it. No process of it outlives the turn.

The agent is offered no file or terminal access through the protocol: it uses its own tools, inside the fence.
`Turn.permit` answers its requests for permission, but a read-only role never gets permission to edit.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adapters.agents.acp.settings import AcpSettings
from adapters.agents.acp.updates import Permissions, activities, cost_of, described, failure_of_stop, spoken, usage_of
from adapters.agents.activity import Activity
from adapters.agents.command.agent import CommandAgent
from adapters.agents.command.call import Call
from adapters.agents.command.conversation import AgentConversation, TurnConversation, program_id
from adapters.agents.command.usage_growth import added, keep, reading, since
from adapters.agents.desk import PermissionDesk
from adapters.agents.failures import failure_of
from adapters.agents.message_pipe import PeerError, Unsupported
from adapters.agents.port import Reply, Turn
from adapters.agents.rpc import (
    Program,
    Rejected,
    call_off,
    ignored,
    introduced,
    table,
    words_of,
)
from adapters.agents.speech import Speech, Voice
from adapters.fence.port import Fence
from adapters.processes.stopwatch import Stopwatch
from domain.session.attempts import Failure
from domain.session.turns import FenceLevel
from domain.values.base import Usage
from domain.values.sentences import Sentence, because

if TYPE_CHECKING:
    from adapters.agents.peer import Peer

Json = dict[str, Any]
VERSION: Final = 1
CALLS: Final = 10_000
"""How many tool calls of a turn are remembered."""
_AUTH_REQUIRED: Final = -32000


class Situation(NamedTuple):
    """The environment of the dialogue."""

    settings: AcpSettings
    turn: Turn
    call: Call
    fence: FenceLevel
    most: int
    """Maximum size of the answer in bytes."""


class Dialogue:
    """The client of one turn. `failure` is set if the answer itself is invalid."""

    def __init__(self, situation: Situation, stopwatch: Stopwatch, observe: Callable[[Activity], None]) -> None:
        self._at, self._observe = situation, observe
        self._speech = Speech(observe)
        self._parts: list[str] = []
        self._bytes = 0
        self._calls: dict[str, Json] = {}
        self._permissions = Permissions(PermissionDesk(situation.turn, situation.fence, stopwatch.paused), observe)
        self._interrupted = False
        self._too_long: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.session = ""
        self.usage = Usage()
        self.cost: int | None = None
        """The cost of the whole conversation, if the agent reports it."""
        self.model: str | None = None
        self.truncated = self._prompted = False

    @property
    def text(self) -> str:
        return "".join(self._parts)

    # -- what we ask ---------------------------------------------------------------------------------------------------

    async def take_place(self, connection: "Peer", resume: str | None) -> Failure | None:
        """Run the whole turn. Returns why it failed. Raises ConnectionError if the agent is gone."""
        try:
            abilities = await self._introduce(connection)
            await self._open_session(connection, abilities, resume)
            await self._choose_model(connection)
            return await self._prompt(connection)
        except Rejected as rejected:
            return rejected.failure
        except PeerError as error:
            return self._failure(error)
        finally:
            self._speech.flush()

    async def _introduce(self, connection: "Peer") -> Json:
        nothing = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        who = {"name": "hansard", "title": "Hansard", "version": "0.1"}
        wanted = {"protocolVersion": VERSION, "clientCapabilities": nothing, "clientInfo": who}
        introduction = await introduced(connection, wanted, "ACP")
        if introduction.get("protocolVersion") != VERSION:
            version = str(introduction.get("protocolVersion"))[:20]
            raise Rejected(Failure.of("refused", Sentence("acp_version_differs", given=version, number=VERSION)))
        if self._at.settings.auth_method:
            await connection.send_request("authenticate", {"methodId": self._at.settings.auth_method})
        return table(introduction.get("agentCapabilities"))

    async def _open_session(self, connection: "Peer", abilities: Json, resume: str | None) -> None:
        """Start a new conversation, or resume one. Updates that arrive while it loads are its history."""
        place: Json = {"cwd": str(self._at.call.cwd), "mcpServers": []}
        if resume is None:
            answer = table(await connection.send_request("session/new", place))
            self.session = str(answer.get("sessionId", ""))
        else:
            resumes = isinstance(table(abilities.get("sessionCapabilities")).get("resume"), dict)
            if not resumes and abilities.get("loadSession") is not True:
                raise Rejected(Failure.of("lost_conversation", Sentence("agent_cannot_resume")))
            method = "session/resume" if resumes else "session/load"
            try:
                answer = table(await connection.send_request(method, {"sessionId": resume, **place}))
            except PeerError as error:
                if error.code == _AUTH_REQUIRED:
                    raise
                why = because(Sentence("conversation_unknown"), self._words(error))
                raise Rejected(Failure.of("lost_conversation", why)) from None
            self.session = resume
        self._session = answer

    async def _choose_model(self, connection: "Peer") -> None:
        """Select the model that the settings name, if the agent allows it. Returns the model in use."""
        wanted = self._at.settings.model
        models, options = table(self._session.get("models")), self._session.get("configOptions")
        option = (
            next(
                (one for one in options if isinstance(one, dict) and "model" in (one.get("category"), one.get("id"))),
                {},
            )
            if isinstance(options, list)
            else {}
        )
        current = option.get("currentValue") or models.get("currentModelId")
        if wanted and current != wanted and not self._at.settings.model_args:
            if option:
                chosen = {"sessionId": self.session, "configId": option.get("id"), "value": wanted}
                await connection.send_request("session/set_config_option", chosen)
            elif models:
                await connection.send_request("session/set_model", {"sessionId": self.session, "modelId": wanted})
        name = wanted or (current if current != "default" else None)
        self.model = name[:200] if isinstance(name, str) and name else None

    async def _prompt(self, connection: "Peer") -> Failure | None:
        message = {"sessionId": self.session, "prompt": [{"type": "text", "text": self._at.turn.prompt}]}
        self._prompted = True
        request = asyncio.ensure_future(connection.send_request("session/prompt", message))
        try:
            await asyncio.wait({request, self._too_long}, return_when=asyncio.FIRST_COMPLETED)
            if self._too_long.done():
                await self._cancel(connection, request)
                return Failure.of("limit", Sentence("answer_too_long", number=self._at.most))
            answer = table(await request)
        except asyncio.CancelledError:
            await self._cancel(connection, request)
            raise
        finally:
            request.cancel()
            request.add_done_callback(ignored)
        self.usage = usage_of(answer)
        return failure_of_stop(answer)

    async def _cancel(self, connection: "Peer", request: "asyncio.Future[Any]") -> None:
        await call_off(connection.send_notification("session/cancel", {"sessionId": self.session}), request)

    # -- what the agent asks and says ----------------------------------------------------------------------------------

    async def handle(self, method: str, params: Any, is_notification: bool) -> Json | None:
        """A request or a notification from the agent. Raises Unsupported."""
        fields = table(params)
        if method == "session/update":
            if not self._prompted or fields.get("sessionId", self.session) == self.session:
                self._update(table(fields.get("update")))
            return None
        if method == "session/request_permission":
            self._speech.flush()
            return {"outcome": await self._permissions.outcome(fields, self._calls)}
        raise Unsupported(method)

    def _update(self, update: Json) -> None:
        """An update of this turn, or of the history of a conversation that is being loaded."""
        cost = cost_of(update)
        self.cost = self.cost if cost is None else cost
        if not self._prompted:
            return
        if (piece := spoken(update)) is not None:
            self._say(*piece)
            return
        for seen in activities(update):
            self._speech.flush()
            if seen.kind == "tool" and seen.id:
                self._interrupted = True
                self._remember(seen.id, update)
                if seen.id in self._permissions.denied:  # its end has been seen
                    continue
            self._observe(seen)

    def used(self, before: Usage) -> Usage:
        """Return what the turn has used so far. The cost is that of the conversation, less what it was before."""
        if self.cost is None:
            return self.usage
        return self.usage.changed(cost_micros=since(before, Usage(cost_micros=self.cost)).cost_micros)

    def _say(self, voice: Voice, text: str) -> None:
        if voice == "message":
            if self._interrupted and self._parts:
                text = f"\n\n{text}"
            self._interrupted = False
            encoded = text.encode(errors="replace")
            room = max(self._at.most - self._bytes, 0)
            self._bytes += len(encoded)
            if len(encoded) > room:
                text, self.truncated = encoded[:room].decode(errors="ignore"), True
                if not self._too_long.done():
                    self._too_long.set_result(None)
            self._parts.append(text)
        self._speech.say(voice, text)

    def _remember(self, call: str, update: Json) -> None:
        if call in self._calls or len(self._calls) < CALLS:
            self._calls[call] = self._calls.get(call, {}) | described(update)

    # -- what went wrong -----------------------------------------------------------------------------------------------

    def _failure(self, error: PeerError) -> Failure:
        words = self._words(error)
        if error.code == _AUTH_REQUIRED:
            return Failure.of("auth", because(Sentence("agent_wants_login"), words))
        return failure_of("crash", words, output=words, rules=self._at.settings.failures)

    def _words(self, error: PeerError) -> str:
        return words_of(error, self._at.call)


_FEW_RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "1"}
"""By itself, Claude retries ten times over minutes and reports nothing of that over ACP. Hansard retries visibly
instead."""


class AcpAgent(CommandAgent):
    """Starts the program for a turn and talks to it."""

    def __init__(self, settings: AcpSettings, data_dir: Path) -> None:
        super().__init__(settings.program, data_dir)
        self._acp = settings

    def _obstacle(self, turn: Turn, conversation: AgentConversation | None) -> str | None:
        if conversation is not None and not conversation.id:
            return "The program did not name its conversation."
        return super()._obstacle(turn, conversation)

    async def _run(self, turn: Turn, talk: TurnConversation, *, scratch: Path, fence: Fence) -> Reply:
        settings = self._settings.inside(fence.level)
        call = await asyncio.to_thread(self._prepared, settings, turn, talk, scratch)
        if isinstance(call, Failure):
            return Reply(failure=call)
        call = replace(call, environment={**_FEW_RETRIES, **call.environment})
        most = min(turn.limits.output_bytes, settings.output_bytes or turn.limits.output_bytes)
        program = Program(settings, turn, call, fence)
        situation = Situation(self._acp, turn, call, fence.level, most)
        dialogue = Dialogue(situation, program.stopwatch, program.observe)
        counter = self._meter(talk.conversation)
        before = reading(counter) if talk.resumed else Usage()
        if turn.meter is not None:
            turn.meter(lambda: dialogue.used(before))
        try:
            failure = await program.talk(dialogue, talk.conversation.id if talk.resumed else None)
        except asyncio.CancelledError:
            if talk.resumed and dialogue.cost is not None:  # the next turn must not count it again
                keep(Usage(cost_micros=dialogue.cost), counter)
            raise
        return await asyncio.to_thread(self._reply, dialogue, talk, failure, call)

    def _reply(self, dialogue: Dialogue, talk: TurnConversation, failure: Failure | None, call: Call) -> Reply:
        text = call.scrub(dialogue.text).strip("\r\n")
        if failure is None and not text.strip():
            failure = Failure.of("unreadable", Sentence("no_answer_given"))
        conversation = replace(talk.conversation, id=program_id(dialogue.session) or talk.conversation.id)
        usage = dialogue.usage
        if dialogue.cost is not None:
            spent = added(Usage(cost_micros=dialogue.cost), self._meter(conversation))
            usage = usage.changed(cost_micros=spent.cost_micros)
        keeps_session = talk.resumed or (failure is None and bool(conversation.id))
        return Reply(
            text=text,
            usage=usage,
            model=call.scrub(dialogue.model or "") or None,
            agent_session=conversation.handle if keeps_session else None,
            failure=failure,
            truncated=dialogue.truncated,
            masked=call.secrets.named_in(dialogue.text),
        )
