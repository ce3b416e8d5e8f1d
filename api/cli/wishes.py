"""Options with or without a value: `--plan-review` for a debate as usual, `--plan-review=perspectives` for that one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from api.cli.client import Json

ReviewStrategy = Literal["review", "red-team"]
DebateStrategy = Literal["debate", "perspectives"]
ReviewWish = Annotated[bool | ReviewStrategy, Parameter(show_choices=False, metavar="[=STRATEGY]")]
DebateWish = Annotated[bool | DebateStrategy, Parameter(show_choices=False, metavar="[=STRATEGY]")]

WISHES: Final = ("--review", "--plan-review", "--work-review")


def wish(wanted: bool | str) -> "Json | None":
    """How something is to be discussed, as the doors take it; None: not at all."""
    if wanted is False:
        return None
    return {"enabled": True} if wanted is True else {"enabled": True, "strategy": wanted}


def spelt_out(words: Sequence[str]) -> list[str]:
    """The command line with `=true` behind wishes without a value: the word that follows is not theirs."""
    end = list(words).index("--") if "--" in words else len(words)
    return [f"{word}=true" if word in WISHES and at < end else word for at, word in enumerate(words)]
