"""A forge on loopback: a bare repository behind git's smart HTTP, and the REST API of GitHub or GitLab over the same
state, shaped after what both publish (github/rest-api-description, docs.gitlab.com/api). A test scripts what people,
bots and CI do there, and what goes wrong.

    with FakeForge(tmp_path, "github") as forge:
        forge.check(forge.head("topic"), "tests", "failure", log="1 failed")
        forge.comment(1, "bea", "Why not a set?", path="shop.py", line=3)
        forge.fail(status=502, times=2)
"""

import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

Kind = Literal["github", "gitlab"]
TOKEN = "forge-token-5f1d8c2a"
PAGES = 100
_GIT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass(frozen=True)
class Person:
    """An account. `level`: whether it may push to the repository."""

    name: str
    id: int
    bot: bool = False
    level: Literal["none", "read", "write"] = "none"
    teams: tuple[str, ...] = ()


@dataclass
class Note:
    """A comment on a pull request or an issue. `thread` is that of the first note in it."""

    id: int
    by: Person
    body: str
    at: float
    edited: float
    kind: Literal["whole", "line", "review"] = "whole"
    thread: str = ""
    path: str | None = None
    line: int | None = None
    start: int | None = None
    side: Literal["new", "old"] = "new"
    head: str | None = None
    verdict: str = "COMMENTED"
    answer_to: int | None = None


@dataclass
class Thread:
    """An issue, or what a pull request has like one."""

    number: int
    title: str
    body: str
    by: Person
    at: float
    state: Literal["open", "closed", "merged"] = "open"
    closed_by: Person | None = None
    notes: list[Note] = field(default_factory=list)


@dataclass
class Pull(Thread):
    """A pull request. While it is open, `head` follows the branch."""

    branch: str = ""
    base: str = ""
    head: str = ""
    draft: bool = False
    merged_by: Person | None = None
    merge_commit: str | None = None
    how: str = ""


@dataclass
class Check:
    """A check run of CI (`run`), or a status that another service has set (`status`). Without `ending` it runs."""

    id: int
    name: str
    head: str
    ending: str | None
    log: str = ""
    via: Literal["run", "status"] = "run"


@dataclass
class Fault:
    """What goes wrong with the next requests that match. `after`: it is carried out first, and only its answer is
    lost."""

    method: str = ""
    path: str = ""
    status: int = 502
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"<html>Bad Gateway</html>"
    times: int = 1
    after: bool = False
    hold: float = 0.0
    """Seconds until the answer begins."""
    drop: bool = False
    """The connection is closed without an answer."""

    def fits(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("", method) and re.search(self.path, path) is not None


@dataclass(frozen=True)
class Call:
    """A request that came in, as it was."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    template: str = ""
    """The path of the published description that it fits."""


@dataclass(frozen=True)
class Answer:
    """What a dialect answers. `items` are paged."""

    document: Any = None
    status: int = 200
    items: list[Any] | None = None
    wrap: Callable[[list[Any], int], Any] | None = None
    text: str | None = None


class NotThere(Exception):
    """There is no such thing. `template`: the path of the description that was asked."""

    template = ""


class FakeForge:
    """One repository, `ann/shop`, with a default branch `main`. Our account is `ann`, the owner; `bea` may push, `sam`
    may not, `robo` is a bot, and `tess` belongs to the team `testers`."""

    def __init__(self, folder: Path, kind: Kind, *, path: str = "ann/shop", delay: float = 0.0) -> None:
        self.kind, self.path, self.delay = kind, path, delay
        self.bare = folder / f"{kind}-forge" / f"{path}.git"
        self.people = {
            person.name: person
            for person in (
                Person("ann", 1, level="write"),
                Person("bea", 2, level="write"),
                Person("sam", 3),
                Person("robo[bot]" if kind == "github" else "robo_bot", 4, bot=True, level="write"),
                Person("tess", 5, level="read", teams=("testers",)),
            )
        }
        self.robot = "robo[bot]" if kind == "github" else "robo_bot"
        self.account = self.people["ann"]
        self.token = TOKEN
        self.others: dict[str, str] = {}
        """Whose further tokens are."""
        self.pulls: dict[int, Pull] = {}
        self.issues: dict[int, Thread] = {}
        self.checks: list[Check] = []
        self.faults: list[Fault] = []
        self.calls: list[Call] = []
        self.pushes: list[tuple[str, str]] = []
        """Branch and commit of each push that was accepted over HTTP."""
        self.overwritten: list[tuple[str, str]] = []
        """Branch and commit of what such a push has taken from its branch."""
        self.by_people: list[tuple[str, str]] = []
        """Branch and commit of what people have committed."""
        self.undecided = 0
        """How often the next questions for mergeability are not answered yet."""
        self.watch: Callable[[str, str, Literal["before", "after"]], None] | None = None
        """Called with method and path before each request is carried out, and after it, before the answer is sent."""
        self.limit: int | None = None
        """Requests that are left before the forge limits; None for any number."""
        self.reset_in = 1.0
        self.lock = threading.RLock()
        self._number = 1_000
        self._begin()

    def _begin(self) -> None:
        self.bare.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main", ".")
        self.git("config", "http.receivepack", "true")
        with tempfile.TemporaryDirectory(prefix="forge-") as folder:
            first = Path(folder)
            self.git("init", "--quiet", "--initial-branch=main", cwd=first)
            (first / "README.md").write_text("# Shop\n", encoding="utf-8")
            self.git("add", "--all", cwd=first)
            self.git("commit", "--quiet", "-m", "Begin", cwd=first, **_identity("ann"))
            self.git("push", "--quiet", str(self.bare), "HEAD:refs/heads/main", cwd=first)

    def __enter__(self) -> Self:
        self._server = _ForgeServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # -- addresses -----------------------------------------------------------------------------------------------------

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def web(self) -> str:
        return f"http://{self.host}"

    @property
    def api(self) -> str:
        return f"{self.web}{self.prefix}"

    @property
    def prefix(self) -> str:
        return "/api/v3" if self.kind == "github" else "/api/v4"

    @property
    def remote(self) -> str:
        """The address that a checkout has as its remote."""
        return f"{self.web}/{self.path}.git"

    def settings(self, **more: object) -> str:
        """The text of a forge.toml for it; the token is in the variable FORGE_TOKEN."""
        pairs = {"kind": self.kind, "api": self.api, "token": "env:FORGE_TOKEN", **more}
        return "".join(f"{name} = {json.dumps(value)}\n" for name, value in pairs.items())

    # -- what people do ------------------------------------------------------------------------------------------------

    def git(self, *words: str, cwd: Path | None = None, **env: str) -> str:
        """Run git in the bare repository. Returns its output."""
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.bare, env=_GIT | env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def head(self, branch: str) -> str | None:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}"],
            cwd=self.bare,
            env=_GIT,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() or None

    def commit(
        self,
        branch: str,
        files: Mapping[str, str],
        *,
        by: str = "bea",
        message: str = "Change",
        onto: str | None = None,
    ) -> str:
        """A person's commit on a branch; with `onto` the branch is forced to a new commit after that one."""
        with self.lock, self._worktree(onto or self.head(branch) or str(self.head("main"))) as tree:
            for name, text in files.items():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_text(text, encoding="utf-8")
            self.git("add", "--all", cwd=tree)
            self.git("commit", "--quiet", "--allow-empty", "-m", message, cwd=tree, **_identity(by))
            commit = self.git("rev-parse", "HEAD", cwd=tree)
            self.git("update-ref", f"refs/heads/{branch}", commit)
            if onto is not None:  # they have taken away what was there
                self.by_people = [each for each in self.by_people if each[0] != branch]
            self.by_people.append((branch, commit))
        return commit

    def has(self, commit: str, ancestor: str) -> bool:
        """True if the commit is built on the other one."""
        words = ["git", "merge-base", "--is-ancestor", ancestor, commit]
        return subprocess.run(words, cwd=self.bare, env=_GIT, capture_output=True, check=False).returncode == 0

    @contextmanager
    def _worktree(self, commit: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="forge-") as folder:
            tree = Path(folder) / "tree"
            self.git("worktree", "add", "--quiet", "--detach", str(tree), commit)
            try:
                yield tree
            finally:
                self.git("worktree", "remove", "--force", str(tree))

    def delete_branch(self, branch: str, by: str = "bea") -> None:
        """GitHub closes the pull requests from it."""
        with self.lock:
            self.follow()
            self.git("update-ref", "-d", f"refs/heads/{branch}")
            for pull in self.pulls.values():
                if pull.branch == branch and pull.state == "open" and self.kind == "github":
                    self.close(pull.number, by)

    def check(
        self,
        head: str | None,
        name: str,
        ending: str | None,
        *,
        log: str = "",
        via: Literal["run", "status"] = "run",
    ) -> Check:
        """CI says how a check of a commit stands: `success`, `failure`, `cancelled`, `skipped`, or None while it runs.
        A later call with the same name is a new attempt."""
        assert head is not None, "there is no such commit"
        with self.lock:
            made = Check(self.number(), name, head, ending, log, via)
            self.checks.append(made)
            return made

    def checks_of(self, head: str, via: str) -> list[Check]:
        """The newest of each name."""
        newest = {check.name: check for check in self.checks if check.head == head and check.via == via}
        return list(newest.values())

    def comment(
        self,
        number: int,
        by: str,
        text: str,
        *,
        path: str | None = None,
        line: int | None = None,
        start: int | None = None,
        side: Literal["new", "old"] = "new",
        answer_to: Note | None = None,
    ) -> Note:
        """A remark on a pull request: on the whole, or on a line."""
        with self.lock:
            self.follow()
            pull = self.pulls[number]
            kind: Literal["whole", "line"] = "line" if path is not None else "whole"
            made = self.note(pull, self.people[by], text, kind=kind)
            made.path, made.line, made.start, made.side, made.head = path, line, start, side, pull.head
            if answer_to is not None:
                made.thread, made.answer_to, made.kind = answer_to.thread, answer_to.id, answer_to.kind
                made.path, made.line, made.head = answer_to.path, answer_to.line, answer_to.head
            return made

    def review(self, number: int, by: str, text: str, verdict: str = "CHANGES_REQUESTED") -> Note:
        """A review with words for the whole; at GitLab, where there are none, a comment."""
        with self.lock:
            self.follow()
            made = self.note(self.pulls[number], self.people[by], text, kind="review")
            made.verdict, made.head = verdict, self.pulls[number].head
            return made

    def edit(self, note: Note, text: str) -> None:
        with self.lock:
            note.body, note.edited = text, time.time()

    def note(
        self, thread: Thread, by: Person, text: str, *, kind: Literal["whole", "line", "review"] = "whole"
    ) -> Note:
        now, number = time.time(), self.number()
        made = Note(number, by, text, now, now, kind, hashlib.sha1(b"%d" % number).hexdigest())  # noqa: S324
        thread.notes.append(made)
        return made

    def issue(self, by: str, title: str, text: str = "") -> Thread:
        with self.lock:
            number = self.next_number("issue")
            self.issues[number] = Thread(number, title, text, self.people[by], time.time())
            return self.issues[number]

    def open(self, branch: str, base: str, title: str, body: str, *, by: str = "ann", draft: bool = False) -> Pull:
        with self.lock:
            number = self.next_number("pull")
            pull = Pull(number, title, body, self.people[by], time.time(), branch=branch, base=base, draft=draft)
            pull.head = self.head(branch) or ""
            self.pulls[number] = pull
            return pull

    def next_number(self, kind: Literal["issue", "pull"]) -> int:
        """GitHub counts both together."""
        if self.kind == "github":
            return len(self.issues) + len(self.pulls) + 1
        return len(self.issues if kind == "issue" else self.pulls) + 1

    def number(self) -> int:
        self._number += 1
        return self._number

    def merge(self, number: int, how: Literal["merge", "squash", "rebase"] = "merge", by: str = "bea") -> str:
        """Merge a pull request. Returns the commit on the base branch."""
        with self.lock:
            self.follow()
            pull = self.pulls[number]
            base = self.head(pull.base)
            with self._worktree(str(base)) as tree:
                if how == "merge":
                    words = ["merge", "--quiet", "--no-ff", "-m", f"Merge #{number}", pull.head]
                    self.git(*words, cwd=tree, **_identity(by))
                elif how == "squash":
                    self.git("merge", "--quiet", "--squash", pull.head, cwd=tree, **_identity(by))
                    self.git("commit", "--quiet", "-m", f"{pull.title} (#{number})", cwd=tree, **_identity(by))
                else:
                    self.git("checkout", "--quiet", "--detach", pull.head, cwd=tree)
                    self.git("rebase", "--quiet", "--force-rebase", str(base), cwd=tree, **_identity(by))
                commit = self.git("rev-parse", "HEAD", cwd=tree)
                self.git("update-ref", f"refs/heads/{pull.base}", commit)
            pull.state, pull.merged_by, pull.merge_commit, pull.how = "merged", self.people[by], commit, how
            return commit

    def close(self, number: int, by: str = "bea") -> None:
        with self.lock:
            self.follow()
            self.pulls[number].state, self.pulls[number].closed_by = "closed", self.people[by]

    def reopen(self, number: int) -> None:
        with self.lock:
            self.pulls[number].state, self.pulls[number].closed_by = "open", None

    def follow(self) -> None:
        """Open pull requests have the newest commit of their branch."""
        for pull in self.pulls.values():
            if pull.state == "open":
                pull.head = self.head(pull.branch) or pull.head

    def conflicts(self, pull: Pull) -> bool:
        words = ["git", "merge-tree", "--write-tree", str(self.head(pull.base)), pull.head]
        return subprocess.run(words, cwd=self.bare, env=_GIT, capture_output=True, check=False).returncode != 0

    def commits_of(self, pull: Pull) -> list[dict[str, str]]:
        """The commits of a pull request, the oldest first."""
        base = self.git("merge-base", str(self.head(pull.base)), pull.head) if pull.state != "merged" else ""
        span = f"{base}..{pull.head}" if base and base != pull.head else f"{pull.head}^..{pull.head}"
        lines = self.git("log", "--reverse", "--format=%H%x1f%s%x1f%an%x1f%ae", span).splitlines()
        return [dict(zip(("id", "subject", "name", "email"), line.split("\x1f"), strict=True)) for line in lines]

    # -- what goes wrong -----------------------------------------------------------------------------------------------

    def fail(self, **fault: Any) -> Fault:
        """The next request that fits (`method`, `path` as a pattern) goes wrong."""
        made = Fault(**fault)
        with self.lock:
            self.faults.append(made)
        return made

    def fault(self, method: str, path: str) -> Fault | None:
        fault = next((each for each in self.faults if each.fits(method, path)), None)
        if fault is not None:
            fault.times -= 1
        return fault

    # -- what came in --------------------------------------------------------------------------------------------------

    def made(self, method: str, path: str = "") -> list[Call]:
        """The requests with this method whose path fits the pattern."""
        return [call for call in self.calls if call.method == method and re.search(path, call.path)]

    def posts(self, marker: str = "") -> list[Note]:
        """Posts of our account, with this in their text."""
        threads = [*self.pulls.values(), *self.issues.values()]
        notes = [note for thread in threads for note in thread.notes]
        return [note for note in notes if note.by == self.account and marker in note.body]

    def account_of(self, authorization: str) -> Person | None:
        """Whose token it is."""
        named = {self.token: self.account.name, **self.others}.get(authorization.removeprefix("Bearer "))
        return self.people[named] if named is not None else None

    def send_hook(self, url: str, secret: str, event: str = "pull_request", body: bytes = b"{}") -> int:
        """Deliver a webhook as the forge signs it. Returns the status of the answer."""
        headers = {"Content-Type": "application/json"}
        if self.kind == "github":
            signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
            headers |= {"X-GitHub-Event": event, "X-Hub-Signature-256": f"sha256={signature}"}
        else:
            headers |= {"X-Gitlab-Event": "Merge Request Hook", "X-Gitlab-Token": secret}
        request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code


def _identity(by: str) -> dict[str, str]:
    return {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", by), ("EMAIL", f"{by}@example.com"))
    }


class _ForgeServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed in the middle of a request is no fault."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


# -- HTTP --------------------------------------------------------------------------------------------------------------


def _handler(forge: FakeForge) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def do_PUT(self) -> None:
            self._answer("PUT")

        def do_PATCH(self) -> None:
            self._answer("PATCH")

        def _answer(self, method: str) -> None:
            parts = urlsplit(self.path)
            content = self._content()
            try:
                if parts.path.startswith(f"/{forge.path}.git/"):
                    self._git(method, parts.path, parts.query, content)
                elif parts.path.startswith(forge.prefix + "/"):
                    self._rest(method, parts.path.removeprefix(forge.prefix), parts.query, content)
                else:
                    self._send(404, b"<html>not here</html>", {"Content-Type": "text/html"})
            except OSError:
                self.close_connection = True

        def _content(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                pieces = []
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(pieces)
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))

        def _rest(self, method: str, path: str, query: str, content: bytes) -> None:
            from tests.kit.forge_dialects import answer_of

            headers = {name.lower(): value for name, value in self.headers.items()}
            if forge.delay:
                time.sleep(forge.delay)
            self._watched(method, path, "before")
            with forge.lock:
                fault = forge.fault(method, path)
            if fault is not None and not fault.after:
                forge.calls.append(Call(method, path, dict(parse_qsl(query)), {}, headers))
                self._fault(fault)
                return
            with forge.lock:
                pairs = dict(parse_qsl(query, keep_blank_values=True))
                body = json.loads(content) if content else {}
                status, answer, more = self._carried_out(method, path, pairs, body, headers, answer_of)
            self._watched(method, path, "after")
            if fault is not None:
                self._fault(fault)
                return
            etag = f'W/"{hashlib.sha256(answer).hexdigest()[:32]}"'
            if method == "GET" and status == 200 and "Location" not in more:
                if headers.get("if-none-match") == etag:
                    self._send(304, b"", {"ETag": etag})
                    return
                more = {**more, "ETag": etag}
            self._send(status, answer, more)

        def _watched(self, method: str, path: str, moment: Literal["before", "after"]) -> None:
            if forge.watch is not None:
                forge.watch(method, path, moment)

        def _carried_out(
            self,
            method: str,
            path: str,
            query: dict[str, str],
            body: Mapping[str, Any],
            headers: Mapping[str, str],
            answer_of: Callable[..., tuple[Answer, str]],
        ) -> tuple[int, bytes, dict[str, str]]:
            json_type = {"Content-Type": "application/json; charset=utf-8"}
            account = forge.account_of(headers.get("authorization", ""))
            if account is None:
                forge.calls.append(Call(method, path, query, body, headers))
                return 401, json.dumps({"message": "Bad credentials"}).encode(), json_type
            if forge.limit is not None:
                if forge.limit <= 0:
                    return self._limited()
                forge.limit -= 1
            forge.follow()
            ours, forge.account = forge.account, account
            try:
                answer, template = answer_of(forge, method, path, query, body)
            except NotThere as error:
                forge.calls.append(Call(method, path, query, body, headers, error.template))
                return 404, json.dumps({"message": "Not Found"}).encode(), json_type
            finally:
                forge.account = ours
            forge.calls.append(Call(method, path, query, body, headers, template))
            if answer.text is not None:
                return answer.status, answer.text.encode(), {"Content-Type": "text/plain"}
            if answer.items is None:
                return answer.status, json.dumps(answer.document).encode(), json_type
            page, size = int(query.get("page", "1")), min(int(query.get("per_page", "30")), PAGES)
            shown = answer.items[(page - 1) * size : page * size]
            document = answer.wrap(shown, len(answer.items)) if answer.wrap else shown
            links = self._links(path, query, page, max(1, -(-len(answer.items) // size)))
            return answer.status, json.dumps(document).encode(), json_type | links

        def _limited(self) -> tuple[int, bytes, dict[str, str]]:
            words = json.dumps({"message": "API rate limit exceeded"}).encode()
            wait = str(max(1, round(forge.reset_in)))
            if forge.kind == "gitlab":
                return 429, words, {"Retry-After": wait}
            reset = str(int(time.time() + forge.reset_in))
            return 403, words, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset, "Retry-After": wait}

        def _links(self, path: str, query: dict[str, str], page: int, last: int) -> dict[str, str]:
            numbers = {"next": page + 1 if page < last else 0, "last": last if page < last else 0, "first": 1}
            links = [
                f'<{forge.api}{path}?{urlencode({**query, "page": number})}>; rel="{relation}"'
                for relation, number in numbers.items()
                if number
            ]
            return {"Link": ", ".join(links)} if last > 1 else {}

        def _fault(self, fault: Fault) -> None:
            if fault.hold:
                time.sleep(fault.hold)
            if fault.drop:
                self.close_connection = True
                return
            self._send(fault.status, fault.body, dict(fault.headers))

        def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if status != 304:
                self.wfile.write(body)

        def _git(self, method: str, path: str, query: str, content: bytes) -> None:
            before = _refs(forge)
            env = _GIT | {
                "GIT_PROJECT_ROOT": str(forge.bare.parents[len(Path(forge.path).parts) - 1]),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": method,
                "REMOTE_USER": forge.account.name,
                "REMOTE_ADDR": "127.0.0.1",
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(content)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            self._watched(method, path, "before")
            with forge.lock:
                fault = forge.fault(method, path)
                if fault is not None and not fault.after:
                    self._fault(fault)
                    return
                done = subprocess.run(["git", "http-backend"], input=content, env=env, capture_output=True, check=False)
                _note_pushes(forge, before, _refs(forge))
            self._watched(method, path, "after")
            if fault is not None:
                self._fault(fault)
                return
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self._send(int(fields.pop("Status", "200").split()[0]), body, fields)

    return Handler


def _note_pushes(forge: FakeForge, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    moved = [(name, commit) for name, commit in after.items() if before.get(name) != commit]
    forge.pushes += moved
    forge.overwritten += [
        (name, before[name]) for name, commit in moved if name in before and not forge.has(commit, before[name])
    ]
    forge.overwritten += [(name, commit) for name, commit in before.items() if name not in after]


def _refs(forge: FakeForge) -> dict[str, str]:
    lines = forge.git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads").splitlines()
    return dict(line.split(" ", 1) for line in lines)
