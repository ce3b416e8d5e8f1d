"""Every action, in the order of the reference."""

from typing import Any, Final

from api.actions.budget import extend_budget
from api.actions.comments import make_comment, settle_comment
from api.actions.control import cancel_session, continue_session, reset_session, retry_turn
from api.actions.conversation import continue_latest, receive_message, reset_latest
from api.actions.decision import decide
from api.actions.declaration import Action
from api.actions.fork import fork_session
from api.actions.landing import land_session
from api.actions.permission import answer_permission, decide_scope
from api.actions.pull_request import open_pull_request
from api.actions.redaction import redact_text
from api.actions.revision import revise_session
from api.actions.start import start_session
from api.actions.trust import trust_project

ACTIONS: Final[tuple[Action[Any], ...]] = (
    start_session,
    cancel_session,
    retry_turn,
    revise_session,
    answer_permission,
    extend_budget,
    decide,
    decide_scope,
    land_session,
    open_pull_request,
    make_comment,
    settle_comment,
    fork_session,
    continue_session,
    reset_session,
    trust_project,
    redact_text,
    receive_message,
    continue_latest,
    reset_latest,
)
