"""What commands believe about the API's answers is what the API says."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from api.cli import answers
from tests.docs.typed_answers import ROOT, types_of

SCHEMAS: Mapping[str, Any] = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["components"]["schemas"]
TYPES = {name: kind for name, kind in vars(answers).items() if hasattr(kind, "__total__") and name != "TypedDict"}


@pytest.mark.parametrize("name", TYPES)
def test_a_field_has_the_type_of_the_document(name: str) -> None:
    """Commands that read another field need `python -m tests.docs.typed_answers` first."""
    fields = {field: kind.__forward_arg__ for field, kind in TYPES[name].__annotations__.items()}
    assert fields.items() <= types_of(SCHEMAS, name, None).items()


def test_there_are_such_answers() -> None:
    assert {"Session", "TurnView", "WaitingItem", "Judged"} <= TYPES.keys()
