"""Tells what a key may do: its scope, the scopes that it includes, and the refusal of what it does not."""

from typing import Final, Literal, get_args

from domain.values.base import Forbidden
from domain.values.sentences import Sentence

Scope = Literal["read", "operate", "decide", "admin", "turns"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
_INCLUDES: Final[dict[Scope, frozenset[Scope]]] = {
    "read": frozenset({"read"}),
    "operate": frozenset({"read", "operate"}),
    "decide": frozenset({"read", "operate", "decide"}),
    "admin": frozenset(SCOPES),
    "turns": frozenset({"turns"}),
}


class ScopeNeeded(Forbidden):
    """The caller's key does not have the scope."""

    def __init__(self, scope: Scope, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.scope = scope


def includes(held: Scope | None, scope: Scope) -> bool:
    """Returns whether a key with the scope `held` may do what needs `scope`."""
    return held is not None and scope in _INCLUDES[held]


def require(scope: Scope, held: Scope | None) -> None:
    """Raises ScopeNeeded if what is `held` does not include the scope."""
    if not includes(held, scope):
        raise ScopeNeeded(scope, Sentence("scope_needed", needed=scope, held=held or ""))
