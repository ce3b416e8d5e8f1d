"""What is read from the URL of a shared database; never its password."""

import pytest

from adapters.store.postgres.address import address_of


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:geheim@db.example:5433/team", "postgresql://ada@db.example:5433/team"),
        ("postgres://ada@db.example/team?sslmode=require&password=geheim", "postgresql://ada@db.example/team"),
        ("postgresql:///team?host=/run/pg&port=5433&user=ada", "postgresql://ada@/run/pg:5433/team"),
        ("postgresql://a%40b:geheim@[::1]:5432/x", "postgresql://a@b@[::1]:5432/x"),
        ("postgresql://ada@one:1,two:2/team", "postgresql://ada@one:1,two:2/team"),
        ("postgresql://ada@db.example", "postgresql://ada@db.example/ada"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert str(address_of(url)) == shown
    assert "geheim" not in repr(address_of(url))


def test_a_place_is_the_same_for_every_account() -> None:
    one, two = address_of("postgresql://ada:1@db/team"), address_of("postgresql://ben:2@db/team")
    assert one.place == two.place == "postgresql://db/team"


@pytest.mark.parametrize("url", ["sqlite:///x", "postgresql://db:many/x", "postgresql://db/x#y"])
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected postgresql|port should be a number"):
        address_of(url)
