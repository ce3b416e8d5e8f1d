"""LangGraph: a graph of states with its own SQLite checkpointer; a person's decision is an interrupt."""

import operator
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from story import REPLY, ROUNDS, SUBJECT, measure, prompt_of


class Review(TypedDict, total=False):
    subject: str
    contributions: Annotated[list[str], operator.add]
    synthesis: str
    choice: str


def contribute(state: Review) -> Review:
    prompt_of(state["contributions"])
    return {"contributions": [REPLY]}


def synthesize(state: Review) -> Review:
    prompt_of(state["contributions"])
    return {"synthesis": REPLY}


def decide(state: Review) -> Review:
    return {"choice": interrupt("decide")}


def further(state: Review) -> str:
    return "contribute" if len(state["contributions"]) < ROUNDS else "synthesize"


def make(folder: Path) -> Callable[[str], None]:
    connection = sqlite3.connect(folder / "log.db", check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    builder = StateGraph(Review)
    for node in (contribute, synthesize, decide):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "contribute")
    builder.add_conditional_edges("contribute", further, ["contribute", "synthesize"])
    builder.add_edge("synthesize", "decide")
    builder.add_edge("decide", END)
    saver = SqliteSaver(connection)  # it has a lock of its own, and sets WAL
    saver.setup()
    graph = builder.compile(checkpointer=saver)

    def hold(name: str) -> None:
        config = {"configurable": {"thread_id": name}}
        graph.invoke({"subject": SUBJECT, "contributions": []}, config, durability="sync")
        graph.invoke(Command(resume="skip"), config, durability="sync")

    return hold


measure(make)
