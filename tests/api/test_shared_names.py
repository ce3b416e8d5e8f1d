"""The names in a shared file, of which whoever shares it is told before."""

import subprocess
import time
from pathlib import Path

import pytest

from api.share.authors import authors_of
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
    "piece",
    [
        "A",
        ":a",
        "/a",
        "a.",
        "a@",
        "1.1.",
        "~",
        "\\",
        "//",
        "C:/a b",
        "worker:a.",
        "x://",
        "a.com",
        "a-1:80",
        "Ab ",
        "Author: A ",
        "a@b.c <",
        "person:",
        "a b\\ ",
    ],
)
def test_hostile_texts_take_no_longer(piece: str) -> None:
    began = time.process_time()  # other work on the machine says nothing about it
    names_in([piece * (400_000 // len(piece))])
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("connect to build.internal.example:8443, then", {"build.internal.example"}),
        ("db01.corp.local에 연결", {"db01.corp.local"}),
        ("host: nas.lan", {"nas.lan"}),
        ('{"host":"db.eu-1.internal"}', {"db.eu-1.internal"}),
        ("router.home.arpa, host.docker.internal", {"router.home.arpa", "host.docker.internal"}),
        ("build-1:8443 or db01:5432", {"build-1", "db01"}),
        ("api.stripe.com and shop.example.co.kr.", {"api.stripe.com", "shop.example.co.kr"}),
        ("main.py main.py:12 src/app.ts:10:3 x.rs:443 README.md:80", set()),
        ("1.2.3 python3.12 a.b.c os.path.join self.name threading.local threading.local()", set()),
        (".env.local settings.local.json Path.home() e.g. i.e. v2.0:12", set()),
        ("line:80 step-1:12 sha256:0123abcd utf-8:9 12:30", set()),
    ],
)
def test_hosts_that_stand_alone_are_found(text: str, hosts: set[str]) -> None:
    assert set(names_in([text]).hosts) == hosts


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("Co-authored-by: Ann Smith <ann@example.com>", {"Ann Smith", "ann@example.com"}),
        ("Reviewed-by: Jean-Luc O'Neill\nAuthor: 홍길동", {"Jean-Luc O'Neill", "홍길동"}),
        ("From: Bob Jones <bob@example.com>", {"Bob Jones", "bob@example.com"}),
        ("+# TODO(eve): more", {"eve"}),
        ("Copyright (c) 2021-2024 Grace Hopper", {"Grace Hopper"}),
        ("Ada Lovelace asked 김철수에게; Ada Lovelaces", {"Ada Lovelace", "김철수"}),
        ("Pull Request of New York; author: the team; 2 < 3", set()),
    ],
)
def test_names_of_people_that_stand_alone_are_found(text: str, people: set[str]) -> None:
    assert set(names_in([text], names=("Ada Lovelace", "김철수", "Nobody Else")).people) == people


def test_who_wrote_commits_is_known(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    assert not {"Ada Lovelace"} & set(authors_of([tmp_path])), "no repository"
    git("init", "-q")
    git("config", "user.name", "Ada Lovelace")
    git("config", "user.email", "ada@example.org")
    assert "Ada Lovelace" in authors_of([tmp_path]), "no commit yet"
    for author in ("김철수", "Bob Jones", "Grace via Hansard", "ci", "some app[bot]"):
        git("commit", "-q", "--allow-empty", "-m", "x", f"--author={author} <x@example.org>")
    names = {"Ada Lovelace", "김철수", "Bob Jones"}
    assert names <= set(authors_of([tmp_path])) and not {"ci", "Grace via Hansard"} & set(authors_of([tmp_path]))
