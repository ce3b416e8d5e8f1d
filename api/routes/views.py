"""GET: the views. Every endpoint waits for `Read-After` and refuses unknown parameters."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import asdict
from functools import partial, wraps

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.spelling import spelled_out
from adapters.store.texts import whole
from api.http.problems import of_field
from api.http.requests import MOST, answer_headers, caught_up, has_it_already, limit, number, only, read_after, system
from api.http.streams import begin_after, check_cursor, stream_log, stream_session, wants_stream
from api.node.session_answers import allowed, marked, marked_list, owned
from api.routes.branch_wait import check_branch, read_with_branch
from api.routes.spans import span
from domain.channel import Channel, channel_id
from domain.kinds import KINDS, SHOWN_STATUSES, TOPICS, allowed_actions
from domain.replay import first_difference
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from domain.values.base import Unknown, Value
from domain.values.sentences import Sentence
from domain.values.words import best_match
from projections.record import artifacts, diff, explain, why_not, worklog
from projections.record.records import Record
from projections.record.session import view
from projections.sessions import conversations, inbox, overview
from projections.views.past import ReplayAnswer, ReplayDifference
from projections.views.record import ArtifactPage, ArtifactView, BudgetPage, Envelope, EventPage, SessionAnswer

Handler = Callable[[Request], Awaitable[Response]]
Reader = Callable[[Request], Response]


def answer(value: Value, **headers: str) -> Response:
    """The model as JSON, never cached unless said otherwise."""
    body = value.model_dump_json(by_alias=True).encode()
    return Response(body, headers=answer_headers(**headers), media_type="application/json")


def endpoint(*names: str, position: Callable[[Request], int] | None = None) -> Callable[[Reader], Handler]:
    """A GET endpoint with these query parameters. It reads in a thread, so that other requests do not wait; the
    views are to have come to `position` before, where one is given."""

    def decorate(reader: Reader) -> Handler:
        @wraps(reader)
        async def opened(request: Request) -> Response:
            only(request, *names)
            await read_after(request)
            if position is not None:
                await caught_up(request, await asyncio.to_thread(position, request))
            return await read_with_branch(reader, request)

        opened.parameters = names  # type: ignore[attr-defined]  # the OpenAPI document reads it
        return opened

    return decorate


def _head(request: Request) -> int:
    return system(request).store.head()


@endpoint("kind", "status", "q", "label", "owner", "repository", "here", "from", "to", "limit", "cursor")
def list_sessions(request: Request) -> Response:
    """GET /api/sessions"""
    query = request.query_params
    _one_of(request, "kind", KINDS)
    _one_of(request, "status", SHOWN_STATUSES)
    since, until = span(query.get("from"), query.get("to"))
    inside, q = system(request), query.get("q")
    with inside.reading() as db, inside.search.reading(q) as index:
        page = overview.page(
            db,
            index=index,
            since=since,
            until=until,
            q=q,
            kind=query.get("kind"),
            status=query.get("status"),
            label=query.get("label"),
            owner=query.get("owner"),
            repository=query.get("repository"),
            here=query.get("here"),
            limit=limit(request),
            cursor=query.get("cursor"),
        )
    return answer(page.model_copy(update={"items": marked_list(inside, page.items)}))


def _one_of(request: Request, name: str, choices: Collection[str]) -> None:
    """Raises Problem for a filter by a word that there is not."""
    if request.query_params.get(name, next(iter(choices))) not in choices:
        detail = Sentence("not_one_of", choices=list(choices))
        raise of_field(name, detail)


@endpoint("version", "include")
def show_session(request: Request) -> Response:
    """GET /api/sessions/{id}"""
    _one_of(request, "include", ("events",))
    session = session_of(request)
    check_branch(request, session)
    machine = system(request).missing_machine(session)
    tag = f'"{session.version}{"" if machine is None else ".away"}"'
    if not session.open_children and has_it_already(request, tag):  # what they allow does not show in its version
        return Response(status_code=304, headers=answer_headers(ETag=tag))
    events = None
    if request.query_params.get("include") == "events":
        history = system(request).store.history(session.id, upto=session.version, limit=MOST)
        events = _envelopes(request, history)
    shown = view(session)
    imported = system(request).imported_turns(shown.outstanding_turns)
    shown = marked(shown, session, system(request).own_team, machine, imported=imported)
    body = SessionAnswer(
        session=owned(shown, session, system(request)),
        available_commands=_allowed(request, session),
        events=events,
    )
    return answer(body, ETag=tag)


def _envelopes(request: Request, events: Iterable[Recorded]) -> tuple[Envelope, ...]:
    store = system(request).store
    return tuple(Envelope.of(spelled_out(store, recorded)) for recorded in events)


def _allowed(request: Request, session: Session) -> tuple[str, ...]:
    """Adds what its discussions allow today: a version that is past does not know it."""
    if "version" in request.query_params:
        return allowed_actions(session)
    return allowed(session, system(request).sessions.get)


@endpoint("after", "cursor", "limit")
def list_events(request: Request) -> Response:
    """GET /api/sessions/{id}/events: a page, or with Accept: text/event-stream history, then live"""
    if wants_stream(request):
        return stream_session(request, request.path_params["id"])
    most = limit(request, default=MOST, most=500)
    session = session_of(request)
    check_cursor(after := begin_after(request), session.version)
    history = system(request).store.history(session.id, after=after, limit=most)
    full = len(history) == most and history[-1].version < session.version
    items = _envelopes(request, history)
    return answer(EventPage(items=items, next_cursor=str(history[-1].version) if full else None))


@endpoint("needs", "owner", "repository", "limit", "cursor", position=_head)
def list_decisions(request: Request) -> Response:
    """GET /api/decisions: everything that waits for a person, oldest first; `needs` filters by what it waits for"""
    query = request.query_params
    needs = tuple(word for value in query.getlist("needs") for word in value.split(","))
    with system(request).reading() as db:
        return answer(
            inbox.page(
                db,
                needs=needs,
                owner=query.get("owner"),
                repository=query.get("repository"),
                limit=limit(request),
                cursor=query.get("cursor"),
            )
        )


@endpoint("after", "cursor", "limit", "kind", "type", "activity")
def list_log(request: Request) -> Response:
    """GET /api/events: the whole log by position"""
    query = request.query_params
    kind, topic = query.get("kind"), query.get("type")
    _one_of(request, "kind", KINDS)
    _one_of(request, "type", TOPICS)
    _one_of(request, "activity", ("1",))
    if wants_stream(request):
        return stream_log(request, kind=kind, topic=topic, lively=query.get("activity") == "1")
    most = limit(request, default=MOST, most=500)
    store, after = system(request).store, begin_after(request)
    page = store.log(after=after, limit=most, kind=kind, topic=topic)
    if not page:
        check_cursor(after, store.head())
    items = _envelopes(request, page)
    return answer(EventPage(items=items, next_cursor=str(page[-1].position) if len(page) == most else None))


@endpoint("version")
def show_worklog(request: Request) -> Response:
    """GET /api/sessions/{id}/worklog: Markdown, in the language of Accept-Language, else as recorded"""
    session = session_of(request)
    language = best_match(request.headers.get("accept-language", ""))
    text = worklog.render(record_of(request, session).worklog, session, language=language)
    headers = answer_headers(ETag=f'"{session.version}"', Vary="Accept-Language")
    return Response(text, headers=headers, media_type="text/markdown; charset=utf-8")


@endpoint("version")
def show_budget(request: Request) -> Response:
    """GET /api/sessions/{id}/budget: how it was used over time"""
    session = session_of(request)
    points = record_of(request, session).budget.upto(session.version)
    return answer(BudgetPage(items=tuple(point.view() for point in points), next_cursor=None))


@endpoint("version")
def list_artifacts(request: Request) -> Response:
    """GET /api/sessions/{id}/artifacts"""
    session = session_of(request)
    made = artifacts.upto(record_of(request, session).artifacts, session.version)
    return answer(ArtifactPage(items=tuple(artifact.view() for artifact in made), next_cursor=None))


@endpoint("version")
def show_artifact(request: Request) -> Response:
    """GET /api/sessions/{id}/artifacts/{artifactId}: the whole text, and the patch where there is one"""
    session, artifact_id = session_of(request), request.path_params["artifact"]
    made = artifacts.upto(record_of(request, session).artifacts, session.version)
    match = next((artifact for artifact in made if artifact.artifact_id == artifact_id), None)
    if match is None:
        raise Unknown(Sentence("session_has_no_artifact", id=session.id, given=artifact_id))
    store = system(request).store
    content, patch = artifacts.texts(store, session.id, match)
    whole_patch = whole(store, patch) if patch else None
    return answer(ArtifactView(**dict(match.view()), content=whole(store, content), patch=whole_patch))


@endpoint("version", "wish")
def show_explanation(request: Request) -> Response:
    """GET /api/sessions/{id}/explain: why it is in this state; with `wish`, what another state lacks. `text` is in
    the language of Accept-Language."""
    session = session_of(request)
    language = best_match(request.headers.get("accept-language", "")) or "en"
    history = system(request).store.history(session.id, upto=session.version)
    wish = request.query_params.get("wish")
    if wish is not None:
        states = why_not.CHARTS[session.kind].states
        if wish not in states:
            detail = Sentence("not_one_of", choices=list(states))
            raise of_field("wish", detail)
    return answer(explain.explain(history, session, wished=wish, language=language))


@endpoint()
def show_replay(request: Request) -> Response:
    """GET /api/sessions/{id}/replay: the history decided again with today's rules; the first difference, or null"""
    session = session_of(request)
    store = system(request).store
    history = store.history(session.id, upto=session.version)
    difference = first_difference(history, partial(whole, store), lambda event_id: _event(request, event_id))
    first = None if difference is None else ReplayDifference(**asdict(difference))
    return answer(ReplayAnswer(session_id=session.id, version=session.version, difference=first))


@endpoint("atA", "atB")
def show_diff(request: Request) -> Response:
    """GET /api/sessions/{a}/diff/{b}: where two sessions diverge; with `atA` and `atB`, at those versions"""
    sides = []
    for name in ("a", "b"):
        version = number(request, f"at{name.upper()}", least=1)
        session = _load(request, request.path_params[name], version)
        sides.append((system(request).store.history(session.id, upto=session.version), session))
    (a, first), (b, second) = sides
    return answer(diff.diff(a, b, first, second, partial(whole, system(request).store)))


def _event(request: Request, event_id: str) -> Recorded | None:
    session_id, _, version = event_id.rpartition(":")
    if not version.isdecimal():
        return None
    stretch = system(request).store.history(session_id, after=int(version) - 1, upto=int(version))
    return stretch[0] if stretch else None


@endpoint("origin")
def show_channel(request: Request) -> Response:
    """GET /api/message: what an origin is busy with, and the messages that wait"""
    origin = request.query_params.get("origin", "")
    stream = system(request).sessions.get(channel_id(origin))
    return answer(conversations.channel_view(origin, stream if isinstance(stream, Channel) else None))


def record_of(request: Request, session: Session) -> Record:
    return system(request).records.of(session.id, session.version)


def session_of(request: Request) -> Session:
    """The session of the path, now or at `?version=`."""
    return _load(request, request.path_params["id"], number(request, "version", least=1))


def _load(request: Request, session_id: str, version: int | None) -> Session:
    if kind_of(session_id) not in KINDS:
        raise Unknown(Sentence("session_not_found", id=session_id))
    session = system(request).sessions.get(session_id, version)
    if session is None:
        newest = system(request).sessions.get(session_id)
        if newest is None:
            raise Unknown(Sentence("session_not_found", id=session_id))
        raise Unknown(Sentence("session_version_beyond", id=session_id, number=version, newest=newest.version))
    return session
