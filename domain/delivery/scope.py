"""Changes outside the scope of a repository: the iteration fails, or a person is asked (contract-2 §8)."""

from collections.abc import Sequence

from domain.delivery.commands import DecideScope
from domain.delivery.events import ScopeDecided, ScopeExceeded, ScopeRequested
from domain.delivery.state import Delivery
from domain.delivery.steps import about, complete, repeated, send_back
from domain.delivery.validation import failing
from domain.session.decision import Events, Now
from domain.session.workspace import undo
from domain.values.base import Refused
from domain.values.sentences import Sentence


def implemented(now: Now[Delivery]) -> Events:
    """Continue with the validation, unless there are changes outside the scope: then the iteration fails, or a person
    is asked."""
    state = now.state
    paths = () if state.scope.outside == "record" else outside(state)
    if not paths:
        return (yield from complete(now, "implementation"))
    if state.scope.outside == "fail":
        return (yield from exceed(now, paths))
    yield now.move(
        "ask",
        ScopeRequested,
        message="Changes outside the scope wait for a person.",
        request_id=f"{state.id}.s{state.scope_requests + 1}",
        paths=paths,
        **about(now, "implementation", role="supervisor"),
    )


def outside(delivery: Delivery) -> tuple[str, ...]:
    """The changed paths outside the scope that no person has allowed."""
    paths = delivery.scope.outside_of(delivery.touched)
    return tuple(path for path in paths if path not in delivery.scope_allowed)


def decide_scope(now: Now[Delivery], command: DecideScope) -> Events:
    """Allowed: the paths may be changed from now on. Denied: the developer has to undo the changes."""
    request = now.state.scope_request
    if request is None:
        raise now.refusal(command.REFUSAL)
    if command.request_id != request.request_id:
        sentence = Sentence("scope_request_not_open", id=command.request_id, open=request.request_id)
        raise Refused(sentence, allowed=now.allowed())
    if now.state.decisions is not None:
        now.state.decisions.check_listed(command.actor)
    yield ScopeDecided(
        message=f"Changes outside the scope: {command.decision}.",
        request_id=request.request_id,
        decision=command.decision,
        by=command.actor,
        paths=request.paths,
        **about(now, "implementation", role="supervisor"),
    )
    if command.decision == "allow":
        return (yield from complete(now, "implementation"))
    yield from exceed(now, request.paths)


def exceed(now: Now[Delivery], paths: tuple[str, ...]) -> Events:
    """The iteration fails, and the developer reads why."""
    words = _feedback(now.state.iteration, paths)
    same = repeated(now.state, failing(words.partition("\n")[2]))
    yield ScopeExceeded(
        message=f"Changes outside the scope at iteration {now.state.iteration}.",
        paths=paths,
        feedback=now.text(words),
        **about(now, "implementation", role="supervisor"),
    )
    yield from send_back(now, same)


def _feedback(iteration: int, paths: Sequence[str]) -> str:
    return f"Iteration {iteration} changed paths outside the scope of this repository.\n{undo(paths)}"
