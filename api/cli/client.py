"""The API as the commands use it: the same requests to a server, or to the application inside this process."""

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import quote

from api.cli import exits
from api.cli.exits import Failed, in_words
from api.cli.labels import sentence
from api.cli.options import Where
from api.cli.terminal import say
from api.node.checkouts import checkout_of
from domain.values.sentences import Sentence, from_wire
from domain.values.words import of_environment

if TYPE_CHECKING:  # they take a fifth of a second that `--help` does not have
    from httpx2 import AsyncClient, Response
    from starlette.applications import Starlette

    from api.cli.answers import Event, EventPage, SessionAnswer
    from api.node.settings import Settings
    from api.system import System


_DIRECT_POLL: Final = 0.12
_SERVER_POLL: Final = 0.25
_SECONDS: Final = 30.0
_LARGEST_PAGE: Final = 200
_SEARCHED: Final = 10_000
"""Sessions among which a beginning of an id is looked for, the newest ones."""
_CHILDREN: Final = 50
"""More sessions than a run usually has reviews and debates after it was started."""

_OPTIONS: Final = {
    "filePaths": "--files",
    "testCommand": "--test",
    "validationCommands": "--validate",
    "labels": "--label",
    "employees": "--employee",
    "profiles": "--profile",
    "fixes": "--fix",
    "issue": "--issue",
    "Idempotency-Key": "--idempotency-key",
    "sessionIds": "SESSIONS",
    "addIterations": "--iterations",
    "addMinutes": "--minutes",
    "addTokens": "--tokens",
    "addCostMicros": "--cost",
    "maxCostMicros": "--max-cost",
    "addRounds": "--rounds",
    "atVersion": "--at",
    "version": "--at",
    "prompt": "the prompt",
    "subject": "the subject",
    "plan": "the plan",
    "decision": "the decision",
    "path": "the path",
    "line": "the line",
    "endLine": "the last line",
    "digest": "the digest",
    "substitute": "the change",
    "text": "--message",
}
"""What people type for a field of a request, where it is not the field's own name with hyphens."""
_GATHERED: Final = ("substitute", "budget", "query")
"""Fields into which options are gathered."""
_FIELD: Final = re.compile(rf"\b(?:{'|'.join(name for name in _OPTIONS if not name.islower())})\b")

Body = Mapping[str, object]
"""What is sent to the API: fields of the wire, with values that JSON can say."""
Use = Literal["read", "all", "first", "start", "work"]
"""What a log is opened for: reading sessions; any endpoint, also where the log begins with it (`first`); starting a
session, which takes a team; working on turns too."""


class Api:
    """The requests of the contract. Answers that are problems become `Failed`."""

    def __init__(self, http: "AsyncClient", *, poll: float, system: "System | None" = None) -> None:
        self._http = http
        self.poll, self.system = poll, system

    async def get(self, path: str, **params: object) -> Any:
        """An answer that is an object; whoever asks says which of `api.cli.answers` it is."""
        headers = {"Accept-Language": of_environment(os.environ)}
        return _object(await self._ask("GET", path, params=_query(params), headers=headers))

    async def values(self, address: str, **params: object) -> list[Any]:
        """An answer that is a list."""
        return [dict(each) for each in (await self._ask("GET", address, params=_query(params))).json()]

    async def text(self, path: str, **params: object) -> str:
        """Text for a person, in the language of the terminal."""
        headers = {"Accept-Language": of_environment(os.environ)}
        return (await self._ask("GET", path, params=_query(params), headers=headers)).text

    async def post(self, path: str, body: Body, *, key: str | None = None, version: int | None = None) -> Any:
        """A command; `key` makes it safe to repeat, `version` binds it to what the caller has seen."""
        if key is not None and not key.isascii():
            raise Failed(sentence("An idempotency key has 1 to 255 visible ASCII characters."), code=exits.USAGE)
        headers = {"Idempotency-Key": key, "If-Match": None if version is None else f'"{version}"'}
        sent = {name: value for name, value in headers.items() if value is not None}
        return _object(await self._ask("POST", path, json=_query(body), headers=sent))

    async def session(self, session_id: str, *, at: int | None = None) -> "SessionAnswer":
        """A session, and what it allows."""
        answer: SessionAnswer = await self.get(path_of(session_id), version=at)
        return answer

    async def events(self, session_id: str, *, after: int, limit: int = _LARGEST_PAGE) -> "list[Event]":
        """The next page of a session's events after version `after`."""
        page: EventPage = await self.get(f"{path_of(session_id)}/events", after=after, limit=min(limit, _LARGEST_PAGE))
        return page["items"]

    async def pages(
        self, path: str, *, limit: int, cursor: str | None = None, **filters: object
    ) -> tuple[list[Any], str | None]:
        """Up to `limit` items over as many pages as that takes, and the cursor after them."""
        items: list[Any] = []
        while len(items) < limit:
            size = min(limit - len(items), _LARGEST_PAGE)
            page = await self.get(path, limit=size, cursor=cursor, **filters)
            items += page["items"]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        return items, cursor

    async def _ask(self, method: str, path: str, **request: Any) -> "Response":
        from httpx2 import HTTPError, InvalidURL

        try:
            answer = await self._http.request(method, path, **request)
        except (HTTPError, InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise Failed(
                sentence(
                    "{base_url} does not answer: {why}. Is `hansard serve` running there?",
                    base_url=self._http.base_url,
                    why=why,
                )
            ) from error
        if answer.is_success:
            return answer
        raise _problem(answer)


def path_of(session_id: str) -> str:
    return f"/api/sessions/{quote(session_id, safe='')}"


@asynccontextmanager
async def connected(
    where: Where,
    use: Use = "read",
    *,
    team: Path | None = None,
    example: bool | None = None,
    actor: str | None = None,
) -> AsyncIterator[Api]:
    """The API behind `where`; a server has its own team and workers, whatever the `use`, and knows `actor` by a key."""
    from httpx2 import ASGITransport, AsyncClient, Timeout

    from api.node import owner

    address = where.address()
    if address is not None:
        key = owner.key_for(address, where.settings())
        if not key.isascii():
            raise Failed(sentence("HANSARD_API_KEY is not a key made by `hansard key`."), code=exits.NOT_ALLOWED)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with AsyncClient(base_url=address, headers=headers, timeout=Timeout(_SECONDS)) as http:
            yield Api(http, poll=_SERVER_POLL)
        return
    settings = where.settings(team=team, example=example)
    reads = use in ("read", "all", "first")
    if reads and use != "first":
        require_log(settings)
    # Who only reads needs no team, and no word about a broken one.
    named = actor or owner.actor()
    app = _application(settings.model_copy(update={"team": None}) if reads else settings, use, named)
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://127.0.0.1") as http,
    ):
        yield Api(http, poll=_DIRECT_POLL, system=app.state.system)


def _application(settings: "Settings", use: Use, actor: str) -> "Starlette":
    """The smallest application for the use, so that reading starts fast. Write access to the file replaces a key."""
    if use == "read":
        from api.reader import reader

        return reader(settings, actor=actor)
    from api.app import create_app

    return create_app(settings, work=use == "work", actor=actor, has_team=use not in ("all", "first"))


def require_log(settings: "Settings") -> None:
    """Raises Failed for a named log that does not exist: reading never creates one."""
    file = missing_log(settings)
    if file is not None:
        raise Failed(sentence("No log at {file}.", file=file), code=exits.NOT_FOUND)


def missing_log(settings: "Settings") -> Path | None:
    """The file of a named log, if there is none there."""
    file = settings.log_file
    is_named = "database" in settings.model_fields_set
    return file if is_named and file is not None and not file.exists() else None


async def resolve(api: Api, name: str) -> str:
    """The one session that `name` means: an id, a unique prefix of one (with or without its kind), or `latest`: the
    newest of the repository of this folder. Where there is none, it is the log's newest, and that is said."""
    if name != "latest":
        return await _of_name(api, name)
    latest = await _latest_here(api)
    if latest.elsewhere:
        say(sentence("No session of this repository yet; this is the newest of the log: {id}", id=latest.id))
    return latest.id


async def resolve_to_change(api: Api, name: str) -> str:
    """The same for a command that changes something: `latest` is never a session of another repository."""
    if name != "latest":
        return await _of_name(api, name)
    latest = await _latest_here(api)
    if latest.elsewhere:
        none = "This repository has no session yet. The newest of the log is {id}: give that id if you mean it."
        raise Failed(sentence(none, id=latest.id), code=exits.NOT_FOUND)
    return latest.id


def repository_here() -> Path | None:
    """The top folder of the repository that the command was typed in."""
    return checkout_of(Path.cwd())


class _Latest(NamedTuple):
    """The newest session, and whether it is none of the repository of this folder although there is one."""

    id: str
    elsewhere: bool = False


async def _latest_here(api: Api) -> _Latest:
    is_remote = api.system is None
    here = None if is_remote else repository_here()
    newest = await _newest(api, here=None if here is None else str(here))
    if is_remote and newest is not None:
        say(sentence("The newest session of the server: {id}", id=newest))
    if newest is not None:
        return _Latest(newest)
    newest = await _newest(api) if here is not None else None
    if newest is None:
        raise Failed(sentence("No sessions yet."), code=exits.NOT_FOUND)
    return _Latest(newest, elsewhere=True)


async def _newest(api: Api, here: str | None = None) -> str | None:
    """The newest session that was started, not a review or debate of one."""
    items = (await api.get("/api/sessions", limit=1 if here else _CHILDREN, here=here))["items"]
    started = next((str(item["id"]) for item in items if not item["parent"]), None)
    return str(items[0]["parent"]) if started is None and items else started


async def _of_name(api: Api, name: str) -> str:
    if name and await _is_an_id(api, name):
        return name
    ids = [str(item["id"]) for item in (await api.pages("/api/sessions", limit=_SEARCHED))[0]]
    matches = [
        candidate
        for candidate in ids
        if name and (candidate.startswith(name) or candidate.partition("-")[2].startswith(name))
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        few = ", ".join(matches[:5]) + (" …" if len(matches) > 5 else "")
        several = Sentence("session_ambiguous", id=name, number=len(matches), names=few)
        raise Failed(in_words(several), code=exits.USAGE)
    unknown = Sentence("session_not_found", id=name, after=Sentence("list_shows_sessions"))
    raise Failed(in_words(unknown), code=exits.NOT_FOUND)


async def _is_an_id(api: Api, name: str) -> bool:
    try:
        await api.session(name)
    except Failed as error:
        if error.code != exits.NOT_FOUND:
            raise
        return False
    return True


def _query(values: Body) -> Mapping[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _object(answer: "Response") -> object:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Failed(sentence("{url} is not a Hansard server.", url=answer.url))
    return body


def _problem(answer: "Response") -> Failed:
    """The problem document in sentences (RFC 9457); an answer that is none is named by its status."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    code = exits.of_http(answer.status_code, body.get("code") if isinstance(body, dict) else None)
    if not isinstance(body, dict) or not isinstance(body.get("detail"), str):
        return Failed(
            sentence(
                "The server answered {status_code} {reason_phrase}.",
                status_code=answer.status_code,
                reason_phrase=answer.reason_phrase,
            ),
            code=code,
        )
    errors = [e for e in body.get("errors") or () if isinstance(e, dict) and e.get("pointer")]
    if errors:
        sentences = [f"{option_of(str(e['pointer']))}: {_in_options(_worded(e))}" for e in errors]
        return Failed(*sentences, code=code, problem=body)
    wait = answer.headers.get("Retry-After")
    return Failed(
        _in_options(_worded(body)),
        *([sentence("Try again in {wait} s.", wait=wait)] if wait else []),
        code=code,
        problem=body,
    )


def _worded(problem: Mapping[str, Any]) -> str:
    """The detail in the terminal's language, and what is allowed instead; of another version as it came."""
    detail = str(problem.get("detail"))
    worded = in_words(from_wire(detail, problem.get("code"), problem.get("params")))
    if worded == detail or not problem.get("allowed"):
        return worded
    return f"{worded} {in_words(Sentence('allowed_now', actions=problem['allowed']))}"


def option_of(pointer: str) -> str:
    """The option that was typed for a field of the request: `/filePaths/1` → `--files (no. 2)`, `/maxRounds` →
    `--max-rounds`.
    """
    parts = pointer.removeprefix("/").split("/")
    while len(parts) > 1 and parts[0] in _GATHERED:
        parts = parts[1:]
    name, *within = parts
    option = _OPTIONS.get(name) or "--" + re.sub("(?=[A-Z])", "-", name).lower()
    option = sentence(option) if " " in option else option
    if within and within[0].isdecimal():
        option, within = f"{option} (no. {int(within[0]) + 1})", within[1:]
    return " /".join([option, "/".join(within)] if within else [option])


def _in_options(detail: str) -> str:
    return _FIELD.sub(lambda match: _OPTIONS[match.group()], detail)
