"""Given / when / then for reviews and debates: on their own, and within the sessions that ask for them."""

from collections import deque
from typing import Any

import pytest

from adapters.store.texts import whole
from domain.convergence.profiles import SEED, Profile
from domain.discussion.commands import POLICY, CancelDiscussion, StartDiscussion
from domain.discussion.events import DecisionRequested, RoundAdded
from domain.discussion.state import Discussion
from domain.discussion.strategies import STRATEGIES
from domain.kinds import fold, kind
from domain.policy import Reaction, react
from domain.session.attempts import Failure, FailureCode
from domain.session.children import Choice, Decide, DiscussionBrief, ReviewSettings
from domain.session.record import kind_of
from domain.session.rules import carry_out
from domain.session.state import EventMetadata, Session
from domain.session.turns import RecordReply, TurnRequested
from domain.values.base import Command, DomainEvent, Refused, Text, Usage
from tests.kit.stories import START, Story, Told

Json = dict[str, Any]
OFTEN = 20
"""More rounds than any of these discussions needs."""


def topic(strategy: str = "review", *, rounds: int = OFTEN, profile: Profile = SEED, **fields: Any) -> DiscussionBrief:
    subject, _ = Text.of("The parser: it reads lines.")
    return DiscussionBrief(
        **{"subject": subject, "strategy": strategy, "max_rounds": rounds, "profile": profile} | fields
    )


def wish(strategy: str, rounds: int | None = None, **fields: Any) -> ReviewSettings:
    most = STRATEGIES[strategy].minimum if rounds is None else rounds
    return ReviewSettings(strategy=strategy, max_rounds=most, profile=SEED, **fields)


class DiscussionStory(Story):
    """A review or a debate of its own, with the answers of its agents as verbs."""

    def __init__(self, strategy: str = "review", *, policy: str = POLICY, **fields: Any) -> None:
        kind = STRATEGIES[strategy].kind
        super().__init__(kind, f"{kind}-1")
        self.begun = self.when(StartDiscussion(topic=topic(strategy, **fields), policy=policy))

    @property
    def talk(self) -> Discussion:
        assert isinstance(self.now, Discussion)
        return self.now

    def says(self, *replies: str) -> list[DomainEvent]:
        """So many rounds, or the synthesis; what the last of them led to."""
        events: list[DomainEvent] = []
        for words in replies:
            events = self.answer(words)
        return events

    def breaks(self, code: FailureCode = "crash", detail: str = "gone") -> list[DomainEvent]:
        return self.answer("", failure=Failure(code=code, detail=detail))

    def decides(self, choice: Choice, *, after: int = 0, **fields: Any) -> list[DomainEvent]:
        return self.when(Decide(choice=choice, **fields), after=after)

    def cancels(self, reason: str = "", *, after: int = 0) -> list[DomainEvent]:
        return self.when(CancelDiscussion(reason=reason), after=after)

    def rounds(self) -> list[RoundAdded]:
        return [event for event in self.events if isinstance(event, RoundAdded)]

    def asked_for(self) -> DecisionRequested:
        [event] = [event for event in self.events if isinstance(event, DecisionRequested)]
        return event


def waiting(strategy: str = "review", **fields: Any) -> DiscussionStory:
    """One that waits for a decision: the rounds it needs, and a synthesis."""
    story = DiscussionStory(strategy, **{"rounds": STRATEGIES[strategy].minimum} | fields)
    while story.talk.status in ("reviewing", "debating"):
        story.says("This will not do.")
    story.says("All in all, it will not do.")
    return story


class Family:
    """Several sessions and what follows from one for the other, as the writer carries it out: all of it or nothing."""

    def __init__(self) -> None:
        self.at = START
        self.sessions: dict[str, Session] = {}
        self.histories: dict[str, list[tuple[DomainEvent, EventMetadata]]] = {}
        self.blobs: dict[str, str] = {}

    def when(self, session_id: str, command: Command, *, starts: bool = False, after: int = 0) -> None:
        """Carry out a command and all that follows from it, `after` milliseconds later."""
        self.at += after
        before, known = dict(self.sessions), {name: list(output) for name, output in self.histories.items()}
        waiting = deque([Reaction(session_id, command, starts=starts)])
        try:
            while waiting:
                self._step(waiting)
        except Refused:
            self.sessions, self.histories = before, known
            raise
        for name, output in self.histories.items():
            assert self.sessions[name] == fold(kind_of(name), output), "the decision and its replay must agree"

    def _step(self, waiting: "deque[Reaction]") -> None:
        reaction = waiting.popleft()
        name = reaction.session_id
        assert reaction.starts or name in self.sessions, f"there is no session {name}"
        metadata = EventMetadata(name, self.at)
        decision = carry_out(kind(kind_of(name)), self.sessions.get(name), reaction.command, metadata)
        self.sessions[name] = decision.session
        self.blobs |= {blob.digest: blob.content for blob in decision.blobs}
        output = self.histories.setdefault(name, [])
        for event in decision.events:
            output.append((event, metadata))
            waiting.extend(react(name, event))

    def refused(self, session_id: str, command: Command) -> Refused:
        """The refusal of a command, which changed nothing anywhere."""
        before = dict(self.sessions)
        with pytest.raises(Refused) as refusal:
            self.when(session_id, command)
        assert self.sessions == before
        return refusal.value

    def answers(self, session_id: str, words: str = "ok", *, agent: str = "", after: int = 0, **fields: Any) -> None:
        """The turn that the session waits for (that agent's, where it waits for several) is answered."""
        turns = self.sessions[session_id].outstanding.values()
        [turn] = [turn for turn in turns if agent in ("", turn.agent)]
        text, blobs = Text.of(words)
        value: Json = {"attempt": 1, "prompt": Text.of("You are asked.")[0], "usage": Usage()} | fields
        self.when(session_id, RecordReply(turn_id=turn.turn_id, reply=text, blobs=blobs, **value), after=after)

    def discussed(self, child: str, words: str = "It will not do.", synthesis: str = "Mend it.") -> None:
        """The discussion is held to its end and waits for a decision."""
        while self.talk(child).status in ("reviewing", "debating"):
            self.answers(child, words)
        self.answers(child, synthesis)

    def decides(self, child: str, choice: Choice, *, after: int = 0, **fields: Any) -> None:
        self.when(child, Decide(choice=choice, **fields), after=after)

    def talk(self, child: str) -> Discussion:
        result = self.sessions[child]
        assert isinstance(result, Discussion)
        return result

    def events(self, session_id: str) -> list[DomainEvent]:
        return [event for event, _ in self.histories[session_id]]

    def request(self, session_id: str, agent: str = "") -> TurnRequested:
        """The newest turn request, of that agent if given."""
        requests = (event for event in reversed(self.events(session_id)) if isinstance(event, TurnRequested))
        return next(request for request in requests if agent in ("", request.agent))

    def prompt_part(self, session_id: str, place: str, agent: str = "") -> str:
        """What the newest turn request says in a place of its prompt, in full."""
        text = self.request(session_id, agent).context[place]
        return whole(Told(self.blobs, self.histories), text)
