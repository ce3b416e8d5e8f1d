"""`docs/deploy` in use: Caddy with the Caddyfile, before two servers on one PostgreSQL.

Without Caddy (`apt-get install caddy`) these tests are skipped and say so. They run nightly: the proxy needs up to ten
seconds until it sends requests to a server that was away.
"""

import contextlib
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.api.pulling import begin, claim, result, team
from tests.api.server import PATIENCE, Server, free_port, until
from tests.kit.postgres import cluster, require

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
NAME = "hansard.example"
OPTIONS = """\
	admin off
	local_certs
	skip_install_trust
	http_port {http}
	https_port {https}
"""


class Proxy:
    """Caddy with the Caddyfile of the documents: its own certificate, other ports, and servers on this machine."""

    def __init__(self, folder: Path, servers: list[Server]) -> None:
        self._folder, self._port = folder, free_port()
        text = (DEPLOY / "Caddyfile").read_text()
        for number, server in enumerate(servers, start=1):
            text = text.replace(f"server-{number}:8000", f"127.0.0.1:{server.port}")
        assert text.count("127.0.0.1:") == len(servers)
        self._file = folder / "Caddyfile"
        before, brace, after = text.partition("\n{\n")
        self._file.write_text(before + brace + OPTIONS.format(http=free_port(), https=self._port) + after)
        self._root = folder / "share" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until a client that knows its certificate gets an answer."""
        places = {"XDG_DATA_HOME": "share", "XDG_CONFIG_HOME": "config", "HOME": "."}
        env = {"PATH": os.environ["PATH"], "HANSARD_NAME": NAME}
        env |= {name: str(self._folder / place) for name, place in places.items()}
        words = ["run", "--adapter", "caddyfile", "--config", str(self._file)]
        with (self._folder / "caddy.log").open("wb") as log:
            self._process = subprocess.Popen(["caddy", *words], env=env, stdout=log, stderr=log)
        until(self._ready, what="the proxy")

    def _ready(self) -> bool:
        assert self._process is not None and self._process.poll() is None, (self._folder / "caddy.log").read_text()
        with contextlib.suppress(OSError, httpx.TransportError), self.client() as client:
            return client.get("/healthz").status_code == 200
        return False

    def client(self, **headers: str) -> httpx.Client:
        """A client that trusts its certificate, and finds the name at this machine."""
        context = ssl.create_default_context(cafile=self._root)
        transport = _Named(verify=context)
        where = f"https://127.0.0.1:{self._port}"
        return httpx.Client(transport=transport, base_url=where, headers={"Host": NAME, **headers}, timeout=PATIENCE)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=PATIENCE)


class _Named(httpx.HTTPTransport):
    """As if the name led to the address of the request."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions["sni_hostname"] = NAME
        return super().handle_request(request)


class Deployed:
    """Two servers behind a proxy, and the owner's key."""

    def __init__(self, proxy: Proxy, servers: list[Server]) -> None:
        self.proxy, self.servers = proxy, servers
        self.key = (servers[0].data / "keys" / "owner.key").read_text().strip()

    def client(self) -> httpx.Client:
        """A program: it sends its key with every request."""
        return self.proxy.client(Authorization=f"Bearer {self.key}")

    @contextlib.contextmanager
    def browser(self) -> Iterator[httpx.Client]:
        """A browser that has signed in."""
        with self.proxy.client(Origin=f"https://{NAME}", Accept="text/html") as client:
            answer = client.post("/login", data={"apiKey": self.key, "back": "/"})
            assert (answer.status_code, answer.headers["location"]) == (303, "/"), answer.text
            yield client


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    if shutil.which("caddy") is None:
        pytest.skip("caddy is not installed: apt-get install caddy")
    require()
    folder = tmp_path_factory.mktemp("deployed")
    remote = team(folder)
    with contextlib.ExitStack() as left, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORWARDED_ALLOW_IPS", "127.0.0.1")
        left.callback(cluster().free, folder)
        servers = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            server = Server(
                folder / name,
                database=cluster().database(folder),
                database_trusted=1,
                auth="key",
                allowed_hosts=NAME,
                team=remote,
                heartbeat_seconds=0.2,
            )
            left.callback(server.leave)
            server.start()
            servers.append(server)
        proxy = Proxy(folder, servers)
        left.callback(proxy.stop)
        proxy.start()
        yield Deployed(proxy, servers)


@contextlib.contextmanager
def stream(client: httpx.Client, path: str, **headers: str) -> Iterator[Iterator[int]]:
    """An event stream: the ids of its events."""
    with client.stream("GET", path, headers={"Accept": "text/event-stream", **headers}) as answer:
        assert answer.status_code == 200
        yield (int(line.removeprefix("id: ")) for line in answer.iter_lines() if line.startswith("id: "))


@pytest.mark.nightly
def test_a_program_and_a_browser_work_through_the_proxy(deployed: Deployed) -> None:
    with deployed.client() as client, deployed.browser() as browser, deployed.proxy.client() as stranger:
        session_id = begin(client)
        assert stranger.get(f"/api/sessions/{session_id}").status_code == 401
        page = browser.get(f"/sessions/{session_id}")
        assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
        [cookie] = [each for each in browser.cookies.jar if each.name.startswith("hansard_")]
        assert cookie.secure and cookie.has_nonstandard_attr("HttpOnly")
        foreign = browser.post(
            f"/api/sessions/{session_id}/cancel", json={}, headers={"Origin": "https://evil.example"}
        )
        assert foreign.status_code == 403
        assert browser.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
        assert client.get(f"/api/sessions/{session_id}").json()["session"]["status"] == "cancelled"


@pytest.mark.nightly
def test_a_stream_and_a_long_poll_get_what_happens_at_once(deployed: Deployed) -> None:
    """They are requested before there is anything to send, and the proxy holds nothing back."""
    with deployed.client() as client, deployed.client() as worker, ThreadPoolExecutor() as pool:
        head = int(client.get("/api/reports/summary").json()["asOf"])
        with stream(client, "/api/events", **{"Last-Event-ID": str(head)}) as events:
            waiting = pool.submit(claim, worker, wait=20.0)
            session_id = begin(client)
            turn = waiting.result()
            assert turn["sessionId"] == session_id
            assert list(islice(events, 3)) == [head + 1, head + 2, head + 3]
            assert result(worker, turn, "The plan.").status_code == 200
            assert next(events) == head + 4
        client.post(f"/api/sessions/{session_id}/cancel", json={})


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_the_other_server_takes_over_at_once(deployed: Deployed, how: str) -> None:
    """A browser keeps its sign-in and continues its stream where it was. Both servers go away in turn, so one of
    them is the browser's."""
    with deployed.client() as client, deployed.browser() as browser:
        session_id = begin(client)
        path = f"/api/sessions/{session_id}/events"
        for server in deployed.servers:
            with stream(browser, path) as events, away(server, how, after=partial(next, events)):
                answers = [browser.get(f"/sessions/{session_id}") for _ in range(20)]
                assert [answer.status_code for answer in answers] == [200] * 20
                assert max(answer.elapsed.total_seconds() for answer in answers) < SLOWEST
                last = int(client.get(path, headers={"Accept": "application/json"}).json()["items"][-1]["position"])
                with stream(browser, path, **{"Last-Event-ID": str(last)}) as more:
                    extension = {"addIterations": 1, "reason": "more"}
                    assert browser.post(f"/api/sessions/{session_id}/budget", json=extension).status_code == 200
                    assert next(more) == last + 1
            until(partial(_both_answer, deployed), what="the server that was away")
        client.post(f"/api/sessions/{session_id}/cancel", json={})


def _both_answer(deployed: Deployed) -> bool:
    """Whether new clients are sent to each of the servers: the proxy's cookie names it."""
    places = set()
    for _ in range(12):
        with deployed.proxy.client() as client:
            client.get("/healthz")
            places.add(client.cookies["lb"])
    return len(places) == len(deployed.servers)


SLOWEST = 3.0
"""Seconds for a request after a server has gone."""


@contextlib.contextmanager
def away(server: Server, how: str, *, after: Callable[[], object]) -> Iterator[None]:
    """Without the server, which was stopped or killed."""
    after()
    server.stop() if how == "stop" else server.kill()
    try:
        yield
    finally:
        server.start()


@pytest.mark.nightly
def test_open_streams_do_not_hold_up_a_restart_of_the_proxy(deployed: Deployed) -> None:
    with deployed.client() as client, stream(client, "/api/events") as events:
        next(events)
        deployed.proxy.stop()
        deployed.proxy.start()


@pytest.mark.nightly
def test_people_are_told_apart_by_their_addresses(deployed: Deployed) -> None:
    """The proxy says who asks; what a client claims of itself does not count."""
    with deployed.proxy.client(Origin=f"https://{NAME}") as client:
        statuses = {
            client.post("/login", data={"apiKey": "wrong"}, headers={"X-Forwarded-For": f"192.0.2.{n}"}).status_code
            for n in range(12)
        }
    assert statuses == {401, 429}


# -- systemd -------------------------------------------------------------------------------------------------------


EXPOSURE = 5.5
"""The most, of 10: agents' programs need the network, and their fence needs namespaces."""
BREAKS_THE_FENCE = {
    "PrivateUsers",
    "ProcSubset",
    "ProtectHostname",
    "ProtectKernelLogs",
    "ProtectKernelTunables",
    "ProtectProc",
    "RestrictNamespaces",
}
"""With these, bubblewrap makes no namespaces, or mounts no /proc in one."""


def test_systemd_understands_the_unit_and_finds_it_restricted(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    text, program, unit = (DEPLOY / "hansard.service").read_text(), tmp_path / "hansard", tmp_path / "hansard.service"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert text.count("/opt/hansard/.venv/bin/hansard") == 1
    unit.write_text(text.replace("/opt/hansard/.venv/bin/hansard", str(program)))  # it has to be there

    def analyzed(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["systemd-analyze", *words, unit], capture_output=True, text=True, check=False)

    verified = analyzed("verify")
    assert (verified.returncode, verified.stderr) == (0, "")
    output = analyzed("security", "--offline=true").stdout
    [exposure] = re.findall(r"Overall exposure level for hansard\.service: (\d+\.\d)", output)
    assert float(exposure) <= EXPOSURE, output
    assert not BREAKS_THE_FENCE & set(re.findall(r"^(\w+)=", text, re.MULTILINE))
