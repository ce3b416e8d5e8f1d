"""The log as the commands open it that need no server: to be read, or to be changed; and the session that is meant."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

from adapters.store.location import open_store, reading
from adapters.store.port import Log, Store
from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import Where
from api.cli.terminal import say
from api.node.checkouts import checkout_of
from api.node.log_use import log_use
from api.node.settings import Settings
from domain.delivery.events import DeliveryStarted
from domain.discussion.events import DiscussionStarted
from domain.orchestration.events import OrchestrationStarted


def settings_of(database: str | None) -> Settings:
    return Where(database=database).settings()


@contextmanager
def open_log(settings: Settings) -> Iterator[Log]:
    """The log, to be read: proving it must not change it."""
    if settings.log_file is not None and not settings.log_file.exists():
        raise Failed(sentence("No log at {log_file}.", log_file=settings.log_file), code=exits.NOT_FOUND)
    with reading(settings.database) as log:
        yield log


@contextmanager
def changing(settings: Settings) -> Iterator[Store]:
    """The log, to be changed. Raises Broken for a malformed one."""
    use = log_use(settings)
    try:
        with closing(open_store(settings.database)) as store:
            yield store
    finally:
        if use is not None:
            use.end()


def find_stream(store: Log, name: str) -> str:
    """The session that is meant: its id, a unique prefix, or `latest`."""
    names = store.rows.streams()
    if name == "latest":
        here = checkout_of(Path.cwd())
        started = (stream for stream in reversed(names) if _is_started(store, stream))
        newest = next(started, name)
        own = (
            None if here is None else next((one for one in chain([newest], started) if _is_of(store, one, here)), None)
        )
        if own is None and here is not None and newest != name:
            say(sentence("No session of this repository yet; this is the newest of the log: {id}", id=newest))
        name = own or newest
    matches = [name] if name in names else [candidate for candidate in names if name and candidate.startswith(name)]
    if len(matches) > 1:
        raise Failed(sentence("{name!r} matches {n} sessions.", name=name, n=len(matches)), code=exits.USAGE)
    if not matches:
        raise Failed(sentence("There is no session {name!r}.", name=name), code=exits.NOT_FOUND)
    return matches[0]


def _is_started(store: Log, stream: str) -> bool:
    """Returns whether it is a session that somebody started, not a review or debate of another one."""
    if stream.startswith(("delivery-", "orchestration-")):
        return True
    first = store.history(stream, upto=1)
    event = first[0].event if first else None
    return isinstance(event, DiscussionStarted) and event.topic.parent is None


def _is_of(store: Log, stream: str, here: Path) -> bool:
    """Returns whether a session was started in or on the repository with this top folder."""
    started_in, workspace = origin_of(store, stream)
    if started_in is not None:
        return started_in == here
    return workspace is not None and workspace.is_relative_to(here)


def origin_of(store: Log, stream: str) -> tuple[Path | None, Path | None]:
    """Returns the top folder of the repository where a session was started, and the folder that it was started on."""
    first = store.history(stream, upto=1)
    match first[0].event if first else None:
        case OrchestrationStarted(opening=request) | DiscussionStarted(topic=request):
            started_in, workspace = request.started_in, request.workspace
        case DeliveryStarted() as request:
            started_in, workspace = request.started_in, request.workspace
        case _:
            return None, None
    return None if started_in is None else Path(started_in), None if workspace is None else Path(workspace)
