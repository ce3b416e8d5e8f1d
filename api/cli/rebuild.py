"""`hansard rebuild`: build the views again from the log."""

from contextlib import closing
from operator import attrgetter

from adapters.proof.stored_bytes import check_events
from adapters.proof.verdict import Unchecked, Verification
from adapters.store.location import open_store, reading
from adapters.store.sqlite.views import open_views
from api.cli import exits
from api.cli.audit import REWRITTEN, fault_words
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import settings_of
from api.cli.terminal import put, say, visible
from api.cli.view_rebuild import rebuild as rebuild_views
from api.cli.view_rebuild import rewritten
from api.node.local_files import search_of
from api.node.settings import Settings
from projections.follow import Follower
from projections.sessions.search import SEARCH


def rebuild(*, database: str | None) -> int:
    """Rebuild all views from the log. Readers see the old views until the new ones are ready. The log is unchanged."""
    settings = settings_of(database)
    _keep_evidence(settings)
    position, missing = _rebuild(settings)
    say(sentence("Views rebuilt up to position {position}.", position=position))
    for what in missing:
        say(what, label="missing")
    return exits.NOT_VERIFIED if missing else exits.OK


def _keep_evidence(settings: Settings) -> None:
    """Raise Failed where the log is not what the views were made from."""
    if not settings.views_path.exists():
        return
    verdict = Verification()
    with reading(settings.database) as log:
        with log.rows.frozen() as rows:
            check_events(rows, verdict)
        try:
            verdict.faults += rewritten(log, settings.views_path)
        except Unchecked:
            say(sentence("The views cannot be read: what they know of the log is not compared with it."))
    changed = [fault for fault in verdict.faults if getattr(fault.problem, "code", "") in REWRITTEN]
    if not changed:
        return
    for fault in sorted(changed, key=attrgetter("position")):
        put(visible(fault_words(fault.position, fault.problem)))
    raise Failed(
        sentence(
            "Nothing was rebuilt: the log was changed after the views {views} were made from it. Keep a copy of {log}"
            " and of the views: they are the evidence. Then restore the log from a backup. If you know that the log is"
            " right, delete {views}: then they are built again.",
            log=settings.log_name,
            views=settings.views_path,
        ),
        code=exits.NOT_VERIFIED,
    )


def _rebuild(settings: Settings) -> tuple[int, list[str]]:
    """The position, and what the views lack because they could not read or fold it."""
    with closing(open_store(settings.database)) as store, closing(open_views(settings.views_path)) as views:
        follower = Follower(store, views, witnessed=store.rows)
        position = rebuild_views(follower, store, settings.database)
        missing = [each.error for each in follower.problems()]
        with closing(open_views(search_of(settings.node_dir))) as words:
            Follower(store, words, [SEARCH]).empty()
    return position, missing
