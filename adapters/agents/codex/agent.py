"""Codex through its app server: unlike `codex exec`, it asks for permission, and counts what each turn has used.

It is confined and resumed like a command. No process of it outlives the turn.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from adapters.agents.activity import Activity
from adapters.agents.codex.items import activities, failure_in, requested_tool, spoken, usage_in
from adapters.agents.command.call import Call
from adapters.agents.command.output import LONGEST_NAME, plus
from adapters.agents.command.settings import CommandSettings
from adapters.agents.desk import PermissionDesk
from adapters.agents.message_pipe import PeerError, Unsupported
from adapters.agents.port import Turn
from adapters.agents.rpc import Program, Rejected, call_off, introduced, table, words_of
from adapters.agents.speech import Speech
from domain.session.attempts import Failure
from domain.values.base import Usage
from domain.values.sentences import Sentence, because

if TYPE_CHECKING:
    from adapters.agents.peer import Peer
from dataclasses import replace
from pathlib import Path

from adapters.agents.command.agent import CommandAgent
from adapters.agents.command.conversation import TurnConversation, program_id
from adapters.agents.command.run import cut
from adapters.agents.command.watch import explained
from adapters.agents.port import Reply
from adapters.fence.port import Fence

Json = dict[str, Any]
CALLS: Final = 10_000
"""How many tool calls of a turn are remembered."""
_UNSEEN: Final = ("turn/diff/updated", "account/rateLimits/updated", "mcpServer/startupStatus/updated")
"""Notifications that Codex is asked not to send: they repeat others, or are for its own windows."""


class CodexDialogue:
    """The client of one turn. Codex decides by itself only about commands that it knows to read; it asks about every
    other one, and about every change of a file."""

    def __init__(
        self, settings: CommandSettings, turn: Turn, call: Call, program: Program, desk: PermissionDesk
    ) -> None:
        self._settings, self._turn, self._call = settings, turn, call
        self._program, self._desk = program, desk
        self._speech = Speech(program.observe)
        self._items: dict[str, Json] = {}
        self._spoken: set[str] = set()
        self._number, self._calls = "", 0
        self._ended: asyncio.Future[Failure | None] = asyncio.get_running_loop().create_future()
        self.thread = self.text = ""
        self.usage = Usage()
        self.model: str | None = None
        self.retry: Activity | None = None
        """The last thing it reported, if that was a failed call to the provider that it repeats."""

    # -- what we ask ---------------------------------------------------------------------------------------------------

    async def take_place(self, connection: "Peer", resume: str | None) -> Failure | None:
        """Run the whole turn. Returns why it failed. Raises ConnectionError if the program is gone."""
        try:
            await self._introduce(connection)
            await self._open_thread(connection, resume)
            return await self._prompt(connection)
        except Rejected as rejected:
            return rejected.failure
        except PeerError as error:
            return failure_in({"message": words_of(error, self._call)}, self._call, self._settings.failures)
        finally:
            self._speech.flush()

    async def _introduce(self, connection: "Peer") -> None:
        who = {"name": "hansard", "title": "Hansard", "version": "0.1"}
        wanted = {"clientInfo": who, "capabilities": {"optOutNotificationMethods": list(_UNSEEN)}}
        await introduced(connection, wanted, "codex app-server")
        await connection.send_notification("initialized")

    async def _open_thread(self, connection: "Peer", resume: str | None) -> None:
        """Start a new conversation, or resume one. A person decides what needs permission, whatever the user's own
        settings say."""
        place: Json = {"cwd": str(self._call.cwd), "approvalPolicy": "untrusted", "approvalsReviewer": "user"}
        if resume is None:
            opened = table(await connection.send_request("thread/start", place))
        else:
            try:
                opened = table(await connection.send_request("thread/resume", {"threadId": resume, **place}))
            except PeerError as error:
                why = because(Sentence("conversation_unknown"), words_of(error, self._call))
                raise Rejected(Failure.of("lost_conversation", why)) from None
        self.thread = str(table(opened.get("thread")).get("id", ""))
        model = opened.get("model")
        self.model = model[:LONGEST_NAME] if isinstance(model, str) and model.isprintable() else None

    async def _prompt(self, connection: "Peer") -> Failure | None:
        message = {"threadId": self.thread, "input": [{"type": "text", "text": self._turn.prompt}]}
        gone = asyncio.ensure_future(self._program.over.wait())
        try:
            await connection.send_request("turn/start", message)
            either: list[asyncio.Future[Any]] = [self._ended, gone]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not self._ended.done():
                raise ConnectionError
            return self._ended.result()
        except asyncio.CancelledError:
            names = {"threadId": self.thread, "turnId": self._number}
            await call_off(connection.send_request("turn/interrupt", names), self._ended)
            raise
        finally:
            gone.cancel()

    # -- what it asks and reports --------------------------------------------------------------------------------------

    async def handle(self, method: str, params: Any, is_notification: bool) -> Json | None:
        """A request or a notification from Codex. Raises Unsupported."""
        fields = table(params)
        if is_notification:
            self._reported(method, fields)
            return None
        self._speech.flush()
        match method:
            case "item/commandExecution/requestApproval" | "item/fileChange/requestApproval":
                use = requested_tool(method, fields, self._items.get(str(fields.get("itemId")), {}))
                return {"decision": "accept" if await self._desk.permitted(use) else "decline"}
            case "item/permissions/requestApproval":  # more rights for the whole turn: it may ask for each command
                return {"permissions": {}}
            case "mcpServer/elicitation/request":
                return {"action": "decline"}
        raise Unsupported(method)

    def _reported(self, method: str, fields: Json) -> None:
        ours = fields.get("threadId") == self.thread  # it may run others, for agents of its own
        if ours and method == "turn/started":
            self._number = str(table(fields.get("turn")).get("id", ""))
        elif ours and method == "turn/completed":
            self._speech.flush()
            self._end(self._outcome(table(fields.get("turn"))))
        elif method == "thread/tokenUsage/updated":
            self._count(fields, ours=ours)
        elif (piece := spoken(method, fields)) is not None:
            self._spoken.add(str(fields.get("itemId")))
            self._speech.say(*piece)
        else:
            self._show(method, fields, ours=ours)

    def _show(self, method: str, fields: Json, *, ours: bool) -> None:
        """Everything that is a whole activity."""
        item = table(fields.get("item"))
        name = str(item.get("id"))
        if ours and method == "item/completed" and item.get("type") == "agentMessage":
            self.text = str(item.get("text", ""))
        if method == "item/started" and len(self._items) < CALLS:
            self._items[name] = item
        for seen in activities(method, fields):
            if seen.kind in ("message", "thought") and name in self._spoken:  # its pieces have been shown
                continue
            self._speech.flush()
            self.retry = seen if seen.kind == "retry" else None
            self._program.observe(seen)
            if seen.kind == "retry" and seen.failure == "auth":
                self._end(Failure.of("auth", because(Sentence("login_refused"), seen.text or "")))

    def _count(self, fields: Json, *, ours: bool) -> None:
        """Add up what each call to the model has used. What is reported before the turn begins is of earlier turns."""
        used = usage_in(fields)
        if used is None or not self._number or (ours and fields.get("turnId") != self._number):
            return
        self._calls += 1
        self.usage = plus(self.usage, used)
        words = f"{used.input_tokens:,} tokens in, {used.output_tokens:,} out"
        self._program.observe(Activity(kind="usage", id=f"call-{self._calls}", usage=used, text=words))

    def _outcome(self, turn: Json) -> Failure | None:
        match turn.get("status"):
            case "completed":
                return None
            case "interrupted":
                return Failure.of("crash", Sentence("agent_interrupted"))
        return failure_in(table(turn.get("error")), self._call, self._settings.failures)

    def _end(self, failure: Failure | None) -> None:
        if not self._ended.done():
            self._ended.set_result(failure)


class CodexAgent(CommandAgent):
    """Starts the app server for a turn and talks to it."""

    async def _run(self, turn: Turn, talk: TurnConversation, *, scratch: Path, fence: Fence) -> Reply:
        settings = self._settings.inside(fence.level)
        call = await asyncio.to_thread(self._prepared, settings, turn, talk, scratch)
        if isinstance(call, Failure):
            return Reply(failure=call)
        program = Program(settings, turn, call, fence)
        desk = PermissionDesk(turn, fence.level, program.stopwatch.paused)
        dialogue = CodexDialogue(settings, turn, call, program, desk)
        failure = await program.talk(dialogue, talk.conversation.id if talk.resumed else None)
        return _reply(dialogue, talk, failure, call, most=turn.limits.output_bytes)


def _reply(dialogue: CodexDialogue, talk: TurnConversation, failure: Failure | None, call: Call, *, most: int) -> Reply:
    text, too_long = cut(call.scrub(dialogue.text).strip("\r\n"), most)
    if failure is None and too_long:
        failure = Failure.of("limit", Sentence("answer_too_long", number=most))
    if failure is None and not text.strip():
        failure = Failure.of("unreadable", Sentence("no_answer_given"))
    conversation = replace(talk.conversation, id=program_id(dialogue.thread) or talk.conversation.id)
    keeps_session = talk.resumed or (failure is None and bool(conversation.id))
    reply = Reply(
        text=text,
        usage=dialogue.usage,
        model=call.scrub(dialogue.model or "") or None,
        agent_session=conversation.handle if keeps_session else None,
        failure=failure,
        truncated=too_long,
        masked=call.secrets.named_in(dialogue.text),
    )
    return explained(reply, dialogue.retry)
