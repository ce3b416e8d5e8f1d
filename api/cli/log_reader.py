"""Reads from the log itself what neither the files beside it nor a kept answer can say."""

import os
from typing import TYPE_CHECKING, cast

from adapters.store.location import reading
from api.cli.options import Where
from domain.kinds import fold
from domain.session.record import kind_of
from domain.values.words import of_environment
from projections.record.explain import cause_of

if TYPE_CHECKING:
    from api.cli.answers import ExplainedCause


class LogReader:
    """Reads the log that is meant."""

    def __init__(self, where: Where) -> None:
        self._where = where

    def cause(self, session_id: str, at: int | None) -> "ExplainedCause | None":
        """The event that says what went wrong in a session that has stopped, or None."""
        with reading(self._where.settings().database) as log:
            history = log.history(session_id, upto=at)
        session = fold(kind_of(session_id), ((recorded.event, recorded.metadata) for recorded in history))
        cause = None if session is None else cause_of(history, session, of_environment(os.environ))
        return None if cause is None else cast("ExplainedCause", cause.model_dump(mode="json", by_alias=True))

    def turn_states(self, session_id: str) -> dict[str, str]:
        """The states of the session's turns in the database that machines share."""
        with reading(self._where.settings().database) as log:
            return {str(row[0]): str(row[6]) for row in log.rows.turns(session_id)}
