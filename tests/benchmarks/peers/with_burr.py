"""Burr: actions, transitions, and its own SQLite persister, which keeps the state after each action."""

import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from burr.core import ApplicationBuilder, State, action, expr
from burr.core.persistence import SQLitePersister
from story import REPLY, ROUNDS, SUBJECT, measure, prompt_of

logging.disable(logging.CRITICAL)


@action(reads=[], writes=["subject", "contributions", "rounds"])
def start(state: State) -> State:
    return state.update(subject=SUBJECT, contributions=[], rounds=0)


@action(reads=["contributions", "rounds"], writes=["contributions", "rounds"])
def contribute(state: State) -> State:
    prompt_of(state["contributions"])
    return state.append(contributions=REPLY).update(rounds=state["rounds"] + 1)


@action(reads=["contributions"], writes=["synthesis"])
def synthesize(state: State) -> State:
    prompt_of(state["contributions"])
    return state.update(synthesis=REPLY)


@action(reads=["synthesis"], writes=["choice"])
def decide(state: State, choice: str) -> State:
    return state.update(choice=choice)


def make(folder: Path) -> Callable[[str], None]:
    local = threading.local()

    def persister() -> SQLitePersister:
        if not hasattr(local, "persister"):
            connection = sqlite3.connect(folder / "log.db", timeout=60, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            local.persister = SQLitePersister(str(folder / "log.db"), connection=connection)
            local.persister.initialize()
        return local.persister

    def hold(name: str) -> None:
        application = (
            ApplicationBuilder()
            .with_actions(start, contribute, synthesize, decide)
            .with_transitions(
                ("start", "contribute"),
                ("contribute", "contribute", expr(f"rounds < {ROUNDS}")),
                ("contribute", "synthesize"),
                ("synthesize", "decide"),
            )
            .with_state_persister(persister())
            .with_identifiers(app_id=name)
            .with_entrypoint("start")
            .build()
        )
        application.run(halt_after=["synthesize"])
        application.run(halt_after=["decide"], inputs={"choice": "skip"})

    return hold


measure(make)
