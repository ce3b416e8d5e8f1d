"""`events`, `worklog`: what the record says of a session."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from api.cli import exits
from api.cli.activity import RunningTurn
from api.cli.client import Api, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, At, Id, Where
from api.cli.progress import agents_of, line_of
from api.cli.terminal import put, put_document, put_json, put_json_line, visible
from api.cli.watch import SessionFollower

if TYPE_CHECKING:
    from api.cli.answers import Event, Session

_ALL: Final = 1_000_000


async def events(
    session: Id,
    /,
    *,
    after: NonNegativeInt = 0,
    limit: PositiveInt | None = None,
    follow: Annotated[bool, Parameter(alias="-f")] = False,
    json: bool = False,
    where: Where = HERE,
) -> int:
    """List a session's events: version, time, type and sentence.

    Parameters
    ----------
    after
        Only events after this version.
    limit
        Maximum number of events.
    follow
        Keep printing events until the session is idle. This only watches; it runs no turns.
    json
        Print each event as a line of JSON.
    """
    if follow and limit is not None:
        raise Failed(sentence("Give --follow or --limit, not both."), code=exits.USAGE)
    async with connected(where) as api:
        session_id = await resolve(api, session)
        if follow:
            await _follow(api, session_id, after=after, json=json)
        else:
            await _print(api, session_id, after=after, limit=limit, json=json)
    return exits.OK


async def worklog(
    session: Id,
    /,
    *,
    at: At = None,
    json: Annotated[bool, Parameter(help="Print it as a string in JSON.")] = False,
    where: Where = HERE,
) -> int:
    """Print a session's worklog as Markdown."""
    async with connected(where) as api:
        session_id = await resolve(api, session)
        version = at or int((await api.session(session_id))["session"]["version"])
        text = await api.text(f"{path_of(session_id)}/worklog", version=version)
    if json:
        put_json({"sessionId": session_id, "version": version, "worklog": text})
    else:
        put_document(text)
    return exits.OK


class _Printed:
    """A screen on stdout: the events are the data."""

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._agents: list[str] = []

    def show_events(self, events: "Sequence[Event]") -> None:
        for event in events:
            if self._json:
                put_json_line(event)
            else:
                put(visible(line_of(event, self._agents)))

    def show_status(self, session: "Session") -> None:
        self._agents = agents_of(session)

    def show_child(self, child: "Session", events: "Sequence[Event]") -> None:
        """Its events are another session's data."""

    def show_turns(self, turns: Sequence[RunningTurn]) -> None:
        """Drops what is not recorded."""


async def _follow(api: Api, session_id: str, *, after: int, json: bool) -> None:
    await SessionFollower(api, session_id, after=after).to_rest(_Printed(json=json))


async def _print(api: Api, session_id: str, *, after: int, limit: int | None, json: bool) -> None:
    """Page by page, so that a long history starts to show at once."""
    printed, left = _Printed(json=json), _ALL if limit is None else limit
    if not json:
        printed.show_status((await api.session(session_id))["session"])
    while left > 0:
        page = await api.events(session_id, after=after, limit=left)
        if not page:
            return
        printed.show_events(page)
        after, left = int(page[-1]["version"]), left - len(page)
