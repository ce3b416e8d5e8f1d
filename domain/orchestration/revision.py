"""Decides what a run does with a person's change request: the agents whose work it concerns get another round."""

from domain.orchestration.events import RunRevisionBegun
from domain.orchestration.state import Orchestration
from domain.session.decision import Now
from domain.values.base import Text
from domain.values.phases import AgentPhases


def begin_revision(
    now: Now[Orchestration], *, by: str, last_round: int | None = None, answer: Text | None = None
) -> RunRevisionBegun:
    """Go on with what people want changed; `by` is the step of the chart that leads there."""
    run = now.state
    return now.move(
        by,
        RunRevisionBegun,
        message="The run goes on with a change request.",
        round=run.round,
        revisions=tuple(revision.revision_id for revision in run.revisions if revision.status != "done"),
        agents=reopened(run),
        last_round=run.last_round if last_round is None else last_round,
        more=last_round is not None,
        origin=run.origin,
        answer=answer or Text(),
    )


def reopened(run: Orchestration) -> tuple[AgentPhases, ...]:
    """The agents, where those whose work is concerned are back in the phase that they were in last. One that paused at
    a checkpoint pauses there again."""
    places = concerned(run)
    return tuple(_again(agent) if place in places else agent for place, agent in enumerate(run.agents))


def _again(agent: AgentPhases) -> AgentPhases:
    return agent.changed(completed=False, checkpointed=False)


def concerned(run: Orchestration) -> frozenset[int]:
    """The places of the agents whose work a person wants changed: those who changed the files that the comments are on;
    where there are words about more than files, those who changed any; all if none did."""
    paused = {place for place, agent in enumerate(run.agents) if agent.checkpointed and not agent.completed}
    return (_of_commented_files(run) or frozenset(run.changed or range(len(run.agents)))) | paused


def _of_commented_files(run: Orchestration) -> frozenset[int]:
    """The places that changed the files that the requests are about, if they are about nothing else and somebody did
    change each."""
    requests = [revision for revision in run.revisions if revision.status != "done"]
    paths = {run.comments.by_id[name].path for revision in requests for name in revision.comments}
    changers = {path: [place for place, files in run.changed.items() if path in files] for path in paths}
    if any(revision.text.head for revision in requests) or not all(changers.values()):
        return frozenset()
    return frozenset(place for places in changers.values() for place in places)
