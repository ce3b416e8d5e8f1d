"""What a list of hosts means: which names, addresses and ports are in it, however a program writes them."""

from ipaddress import ip_address

import pytest

from adapters.fence.network.addresses import Address, is_public, literal
from adapters.fence.network.allow_list import Allowed, NotAllowed
from adapters.fence.network.refusals import Refusals
from adapters.fence.network.upstream import UpperProxy, upstream_of
from domain.values.network import MOST_REFUSED, RefusedHost, entries, entry, merged

LISTED = Allowed(entries(["pypi", "api.example.com", "*.cdn.example.com", "db.example.com:5432", "10.1.2.3:8080"]))


def why(host: str, port: int = 443, allowed: Allowed = LISTED) -> str:
    """Why the request is refused, or nothing."""
    try:
        allowed.destination(host, port)
    except NotAllowed as error:
        return error.reason
    return ""


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("pypi.org", 443),
        ("files.pythonhosted.org", 443),
        ("api.example.com", 443),
        ("api.example.com", 80),
        ("a.cdn.example.com", 443),
        ("a.b.cdn.example.com", 443),
        ("db.example.com", 5432),
        ("10.1.2.3", 8080),
        ("::ffff:10.1.2.3", 8080),
        ("0xa010203", 8080),
    ],
)
def test_what_is_listed_may_be_reached(host: str, port: int) -> None:
    assert why(host, port) == ""


@pytest.mark.parametrize(
    ("host", "port", "reason"),
    [
        ("example.com", 443, "not_listed"),
        ("api.example.com.evil.org", 443, "not_listed"),
        ("evilapi.example.com", 443, "not_listed"),
        ("cdn.example.com", 443, "not_listed"),
        ("evilcdn.example.com", 443, "not_listed"),
        ("localhost", 443, "not_listed"),
        ("api.example.com", 22, "port"),
        ("db.example.com", 443, "port"),
        ("10.1.2.3", 443, "address"),
        ("127.0.0.1", 8080, "address"),
        ("127.1", 80, "address"),
        ("2130706433", 80, "address"),
        ("0x7f000001", 80, "address"),
        ("0x7f.1", 80, "address"),
        ("017700000001", 80, "address"),
        ("0177.0.0.01", 80, "address"),
        ("::1", 80, "address"),
        ("[::1]", 80, "address"),
        ("::ffff:127.0.0.1", 80, "address"),
        ("::ffff:7f00:1", 80, "address"),
        ("0:0:0:0:0:ffff:7f00:0001", 80, "address"),
        ("fe80::1%lo", 80, "address"),
        ("169.254.169.254", 80, "address"),
        ("0.0.0.0", 80, "address"),  # noqa: S104
        ("1.2.3.4.5", 80, "malformed"),
        ("256.0.0.1", 80, "malformed"),
        ("api.example.com\u3002", 443, "malformed"),
        ("①②⑦.0.0.1", 80, "malformed"),
        ("api example.com", 443, "malformed"),
        ("*.example.com", 443, "malformed"),
        ("", 443, "malformed"),
        ("a" * 64 + ".com", 443, "malformed"),
        ("[::1", 80, "malformed"),
        ("gggg::1", 80, "malformed"),
    ],
)
def test_everything_else_is_refused_and_says_why(host: str, port: int, reason: str) -> None:
    assert why(host, port) == reason


@pytest.mark.parametrize(
    "found",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",  # noqa: S104
        "255.255.255.255", "192.0.0.1", "198.18.0.1", "240.0.0.1", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254",
        "ff02::1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::", "::7f00:1", "2001:db8::1",
        "2001:0:7f00:1:0:0:f5ff:fffe",
    ],
)  # fmt: skip
def test_no_address_of_this_machine_or_a_private_network_is_public(found: str) -> None:
    assert not is_public(ip_address(found))


@pytest.mark.parametrize("found", ["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_addresses_of_the_internet_are_public(found: str) -> None:
    assert is_public(ip_address(found))


def test_a_listed_name_that_leads_to_a_private_address_is_refused() -> None:
    private, public = ip_address("10.9.9.9"), ip_address("203.0.114.1")
    with pytest.raises(NotAllowed) as refused:
        LISTED.reachable("api.example.com", 443, [private, ip_address("127.0.0.1")])
    assert refused.value.reason == "private"
    assert LISTED.reachable("api.example.com", 443, [private, public]) == (public,)


def test_a_listed_network_lets_names_lead_there() -> None:
    allowed = Allowed(entries(["git.intern.example", "10.0.0.0/8"]))
    found: list[Address] = [ip_address("10.9.9.9")]
    assert allowed.reachable("git.intern.example", 443, found) == tuple(found)
    assert why("10.9.9.9", 443, allowed) == ""
    assert why("10.9.9.9", 22, allowed) == "port" or why("10.9.9.9", 22, allowed) == "address"


def test_localhost_means_this_machine_with_that_port_alone() -> None:
    allowed = Allowed(entries(["localhost:8123"]))
    assert allowed.doors == (8123,)
    assert why("localhost", 8123, allowed) == why("127.0.0.1", 8123, allowed) == ""
    assert why("localhost", 8124, allowed) == "port"
    assert why("127.0.0.1", 8124, allowed) == "address"
    with pytest.raises(NotAllowed):
        allowed.reachable("localhost", 8123, [ip_address("10.0.0.1")])


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.", "http://pypi.org", "pypi.org/simple", "pypi.org:0", "pypi.org:99999", "pypi org", "-a.com", "a..b",
     "1.2.3", "1.2.3.4.5", "10.0.0.1/8", "[::1", "*.*.org", "a.*.org", "user@pypi.org", "pypi.org\n", "é.org"],
)  # fmt: skip
def test_what_is_no_host_is_refused_in_a_list(text: str) -> None:
    with pytest.raises(ValueError, match="is not a host"):
        entry(text)


def test_entries_are_shown_as_they_are_written() -> None:
    for text in ("pypi.org", "*.example.com", "a.example:8443", "10.0.0.5:5432", "10.0.0.0/8", "[fd00::1]:80"):
        assert str(entry(text)) == text


def test_an_address_is_found_in_every_spelling() -> None:
    for host in ("127.1", "0x7f.0.0.1", "0177.1", "2130706433", "127.0.0.1"):
        assert str(literal(host)) == "127.0.0.1"
    assert literal("example.com") is None
    assert literal("1.example.com") is None


def test_refusals_are_counted_and_limited() -> None:
    refusals = Refusals()
    for number in range(10 * MOST_REFUSED):
        refusals.add(f"{number}.evil.org", 443, "not_listed")
        refusals.add("twice.evil.org", 443, "not_listed")
    assert len(refusals.hosts()) == MOST_REFUSED
    assert (
        RefusedHost(host="twice.evil.org", port=443, reason="not_listed", count=10 * MOST_REFUSED) in refusals.hosts()
    )


def test_the_name_of_a_refused_host_is_kept_without_anything_strange() -> None:
    refusals = Refusals()
    refusals.add("a\u202eb\x1b[31m<b>" + "x" * 1_000, 443, "malformed")
    host = refusals.hosts()[0].host
    assert host.startswith("a?b?[31m?b?x")
    assert len(host) == 255


def test_the_refusals_of_several_turns_become_one_list() -> None:
    one, other = (RefusedHost(host=name, port=443, reason="not_listed", count=2) for name in ("a.org", "b.org"))
    assert merged([one], [other, one]) == (one.changed(count=4), other)
    many = [RefusedHost(host=f"{n}.org", reason="not_listed") for n in range(2 * MOST_REFUSED)]
    assert len(merged(many, many)) == MOST_REFUSED


def test_the_persons_own_proxy_is_read_from_the_environment() -> None:
    upstream = upstream_of({"HTTPS_PROXY": "http://ann:p%40ss@proxy.corp:3128", "no_proxy": ".corp, other.org:8443,"})
    assert upstream is not None
    assert upstream.for_tunnel("pypi.org") == UpperProxy("proxy.corp", 3128, login="Basic YW5uOnBAc3M=")
    assert upstream.for_request("pypi.org") is None
    assert (
        upstream.for_tunnel("git.corp") is upstream.for_tunnel("other.org") is upstream.for_tunnel("localhost") is None
    )
    assert upstream_of({}) is upstream_of({"HTTPS_PROXY": "socks5://proxy:1080"}) is None
