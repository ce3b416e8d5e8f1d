"""The sessions that a writer has decided, so that the next command on one folds nothing."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from domain.session.state import Session

KEPT: Final = 5_000
RESTING: Final = 200
"""How many are kept, and how many of those in which no turn is open: the next command on one is a person's, if there
ever is one."""


class KeptSessions(OrderedDict[str, Session]):
    """Sessions by id, the one that was decided last at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._resting: OrderedDict[str, None] = OrderedDict()
        """Perhaps with some that are not kept any more."""

    def keep(self, decided: Mapping[str, Session]) -> None:
        """Keep what was just decided, and drop what has not been used for longest."""
        for name, session in decided.items():
            self[name] = session
            self.move_to_end(name)
            self._resting.pop(name, None)
            if not session.outstanding:
                self._resting[name] = None
        while len(self._resting) > RESTING:
            self.pop(self._resting.popitem(last=False)[0], None)
        while len(self) > KEPT:
            self.popitem(last=False)
