"""Changed copies of what is immutable."""

from dataclasses import dataclass

import pytest

from domain.values.base import Usage, changed


@dataclass(frozen=True)
class Place:
    street: str
    number: int = 1


def test_a_copy_has_the_other_fields_and_its_original_none_of_them() -> None:
    place = Place("High Street")
    assert changed(place, number=2) == Place("High Street", 2)
    assert place == Place("High Street")
    assert Usage(input_tokens=1).changed(output_tokens=2) == Usage(input_tokens=1, output_tokens=2)


def test_a_copy_has_no_new_fields() -> None:
    with pytest.raises(TypeError, match="Place has no field town"):
        changed(Place("High Street"), town="Oxford")
    with pytest.raises(TypeError, match="Usage has no field town"):
        Usage().changed(town="Oxford")
