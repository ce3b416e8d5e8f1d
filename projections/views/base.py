"""What every view is made of."""

from typing import Any

from pydantic import ConfigDict

from domain.values.base import Value


class View(Value):
    """An answer: frozen, camelCase on the wire. Readers ignore fields that a newer server adds."""

    model_config = ConfigDict(extra="ignore")

    def json_bytes(self) -> bytes:
        return self.model_dump_json(by_alias=True).encode()

    def wire(self) -> dict[str, Any]:
        """The answer as plain JSON values, for templates."""
        return self.model_dump(mode="json", by_alias=True)


class Page(View):
    """A page of a list; `next_cursor` is null on the last one."""

    next_cursor: str | None


def empty(given: object) -> bool:
    """For `exclude_if`: a list without entries is left out."""
    return not given


def absent(given: object) -> bool:
    """For `exclude_if`: a field without a value is left out."""
    return given is None
