"""The names in a shared file, of which whoever shares it is told before."""

import time

import pytest

from api.share.names import names_in


@pytest.mark.parametrize(
    ("text", "people", "hosts", "paths"),
    [
        ("person:ann", {"ann"}, set(), set()),
        ("by ann@example.com", {"ann@example.com"}, set(), set()),
        ("git@github.com:ann/repo.git", set(), {"github.com"}, set()),
        ("ssh://git@gitlab.local:22/x", set(), {"gitlab.local"}, set()),
        ("ssh root@build01:/srv/x", {"root"}, {"build01"}, set()),
        ("postgres://bob:pw@db/x", {"bob"}, {"db"}, set()),
        ("http://localhost:8080/x", set(), {"localhost"}, set()),
        ("localhost에서 실패", set(), {"localhost"}, set()),
        ("at 10.0.0.5:80, 192.168.1.7.", set(), {"10.0.0.5", "192.168.1.7"}, set()),
        ("http://[2001:db8::5]:80/ and ::1: no", set(), {"2001:db8::5", "::1"}, set()),
        ("fe80::1%eth0, ::ffff:10.0.0.9", set(), {"fe80::1", "10.0.0.9"}, set()),
        ("12:34:56 std::deque 1.2.3 999.1.1.1 aa:bb:cc:dd:ee:ff", set(), set(), set()),
        ("worker:demo.0123456789ab", set(), {"demo"}, set()),
        (r"C:\Users\Ann Smith\x\y.txt", set(), set(), {r"C:\Users\Ann Smith\x"}),
        (r'{"a": "C:\\Users\\bob\\k"}', set(), set(), {r"C:\Users\bob\k"}),
        (r"D:/work/z \\nas01\share\x", set(), {"nas01"}, {r"D:\work\z", r"\\nas01\share"}),
        ("/Volumes/Data/ann/x", set(), set(), {"/Volumes/Data/ann"}),
        ("/home/ann b/proj c/d", set(), set(), {"/home/ann", "/home/ann b/proj c"}),
        ("'/작업/저장소/파일'", set(), set(), {"/작업/저장소/파일"}),
        ("file:///home/eve/k, ~ann/x and `~/proj/x`", set(), set(), {"/home/eve/k", "~ann/x", "~/proj/x"}),
        ("--prefix=/opt/tool/bin", set(), set(), {"/opt/tool/bin"}),
        ("/usr/bin/python /dev/null and/or src/a/b.py </html> // no", set(), set(), set()),
        ("https://example.com/a/b", set(), {"example.com"}, set()),
    ],
)
def test_names_are_found(text: str, people: set[str], hosts: set[str], paths: set[str]) -> None:
    names = names_in([text])
    assert (set(names.people), set(names.hosts), set(names.paths)) == (people, hosts, paths)


def test_what_says_most_comes_first() -> None:
    assert names_in(["/api/x/y /home/ann/x"]).paths == ("/home/ann/x", "/api/x/y")


@pytest.mark.parametrize(
    "piece", ["A", ":a", "/a", "a.", "a@", "1.1.", "~", "\\", "//", "C:/a b", "worker:a.", "x://", "person:", "a b\\ "]
)
def test_hostile_texts_take_no_longer(piece: str) -> None:
    began = time.perf_counter()
    names_in([piece * (400_000 // len(piece))])
    assert time.perf_counter() - began < 5
