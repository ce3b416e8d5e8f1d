"""The library that our store implements, used as its documentation shows: an aggregate and an application."""

import os
from collections.abc import Callable
from pathlib import Path

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from story import REPLY, ROUNDS, SUBJECT, measure, prompt_of


class Review(Aggregate):
    def __init__(self, name: str, subject: str) -> None:
        self.name, self.subject = name, subject
        self.contributions: list[str] = []
        self.synthesis = self.choice = ""

    @event("Contributed")
    def contribute(self, reply: str) -> None:
        self.contributions.append(reply)

    @event("Synthesized")
    def synthesize(self, reply: str) -> None:
        self.synthesis = reply

    @event("Decided")
    def decide(self, choice: str) -> None:
        self.choice = choice


def make(folder: Path) -> Callable[[str], None]:
    os.environ |= {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(folder / "log.db")}
    os.environ |= {"SQLITE_LOCK_TIMEOUT": "60"}
    application: Application = Application()

    def hold(name: str) -> None:
        review = Review(name, SUBJECT)
        application.save(review)
        for _ in range(ROUNDS):
            review = application.repository.get(review.id)
            prompt_of(review.contributions)
            review.contribute(REPLY)
            application.save(review)
        review = application.repository.get(review.id)
        review.synthesize(REPLY)
        application.save(review)
        review = application.repository.get(review.id)
        review.decide("skip")
        application.save(review)

    return hold


measure(make)
