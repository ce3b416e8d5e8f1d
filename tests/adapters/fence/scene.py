"""What is attacked: a server with keys, a person's checkout and home, and what else a machine has, all made for it."""

import contextlib
import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.adapters.fence.attacks import SECRET
from tests.adapters.workspace.given import git, write
from tests.api.server import ROOT, Server, delivery, ended, start, until
from tests.kit.programs import NEW_PYTHON

ATTACKS: Final = Path(__file__).with_name("attacks.py")
KEYCTL: Final = {"x86_64": (248, 250), "aarch64": (217, 219)}
REQUESTS: Final = (
    *("GET /api/sessions", "GET /api/sessions/{id}", "GET /api/sessions/{id}/events", "GET /api/sessions/{id}/worklog"),
    *(
        "GET /api/sessions/{id}/turns",
        "GET /api/decisions",
        "GET /api/events",
        "GET /api/reports/summary",
        "GET /metrics",
    ),
    *("GET /openapi.json", "GET /docs", "GET /", "GET /sessions/{id}", "GET /decisions", "GET /reports", "GET /lab"),
    *("GET //api/sessions", "GET /%61pi/sessions", "GET /healthz/../api/sessions", "GET /assets/../api/sessions"),
    *("GET /assets/%2e%2e/api/sessions", "GET /login/../api/sessions", "GET /API/sessions", "GET /api/sessions/"),
    *(
        "GET /api/sessions?key=owner",
        "GET /healthz/",
        "GET /healthz;/api/sessions",
        "GET /readyz/x",
        "GET /assets/%2e%2e",
    ),
    *("HEAD /api/sessions", "OPTIONS /api/sessions", "PUT /api/sessions", "DELETE /api/sessions/{id}"),
    *("PATCH /api/sessions/{id}", "TRACE /api/sessions", "POST /api/sessions/{id}/decision"),
    *("POST /api/sessions/{id}/cancel", "POST /api/sessions/{id}/retry", "POST /api/sessions/{id}/budget"),
    *("POST /api/sessions/{id}/continue", "POST /api/sessions/{id}/reset", "POST /api/sessions/{id}/fork"),
    *("POST /api/sessions", "POST /api/trust", "POST /api/turns/claim", "POST /api/policies/parse"),
)


class Scene:
    """Everything below `folder`; `server` runs. Leave it by `close`."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder, self.servers, self._stack = folder, folder / "s", contextlib.ExitStack()
        self.servers.mkdir()
        self.mark = secrets.randbelow(900_000) + 100_000
        self.planted = folder / "planted"
        self.home, self.checkout, self.runtime = folder / "account", folder / "checkout", folder / "runtime"
        self._furnish()
        self.sockets = self._sockets()
        self.server = Server(self.servers, within=NEW_PYTHON, auth="key", **settings)
        self._stack.callback(self.server.leave)
        self.server.start()
        self._key = (self.server.data / "keys" / "owner.key").read_text().strip()
        self.server.client.headers["Authorization"] = f"Bearer {self._key}"
        self.decoy = subprocess.Popen(["sleep", "600"])
        self._stack.callback(self._end_decoy)

    def close(self) -> None:
        self._stack.close()

    def attack(self, *, seconds: float = 120.0) -> tuple[dict[str, Any], dict[str, dict[str, bool]]]:
        """A delivery whose developer and whose validation attack: the session's id, and what each of them achieved."""
        self._write_place("place.json", control=False)
        git(self.checkout, "add", "attacks.py", "place.json", "README")
        git(self.checkout, "commit", "-qm", "Attack")
        command = [sys.executable, "-I", "attacks.py", "place.json", "validation"]
        body = delivery(workspace=str(self.checkout), validationCommands=[command], maxIterations=1)
        del body["scenario"]
        session_id = start(self.server.client, body)
        session = ended(self.server.client, session_id, seconds=seconds)
        assert session["status"] == "success", (session["finalSummary"], self.server.log.read_text()[-2_000:])
        return session, {actor: self._report(session_id, actor) for actor in ("agent", "validation")}

    def control(self, actor: str) -> dict[str, bool]:
        """The same tries without Hansard around them."""
        folder = self.folder / f"control-{actor}"
        folder.mkdir()
        git(folder, "init", "-q")
        place = self._write_place(f"{actor}.json", control=True)
        env = {**os.environ, "CANARY": SECRET.decode(), "HOME": str(self.home)}
        command = [sys.executable, "-I", str(ATTACKS), str(place), actor]
        subprocess.run(command, cwd=folder, env=env, check=True, timeout=120)
        done: dict[str, bool] = json.loads((folder / f"attacks-{actor}.json").read_text())
        return done

    def survivors(self, actor: str) -> dict[int, str]:
        """Processes of this scene's actor that are alive."""
        needle = f"90.{self.mark}{actor == 'agent':d}".encode()
        result = {}
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                line = path.read_bytes()
                if needle in line:
                    result[int(path.parent.name)] = line.replace(b"\0", b" ").decode()
        return result

    def end_survivors(self, actor: str) -> None:
        for pid in self.survivors(actor):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # -- what there is -------------------------------------------------------------------------------------------------

    def _furnish(self) -> None:
        write(self.checkout, {"README": "x"})
        for args in (["init", "-q"], ["add", "README"], ["commit", "-qm", "Start"]):
            git(self.checkout, *args)
        self.checkout.joinpath("attacks.py").write_bytes(ATTACKS.read_bytes())
        for path in self.secrets().values():
            if not path.name.startswith(("hansard.db", "owner.key", "views.db", "config")):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(SECRET)
        for folder in self.folders().values():
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("decoy", "doomed-agent", "doomed-validation"):
                (folder / name).write_bytes(SECRET)
        tool = self.home / ".tool" / "bin" / "thing"
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
        self.runtime.mkdir(mode=0o700)

    def secrets(self) -> dict[str, Path]:
        node = self.servers / "node"
        return {
            "log": self.servers / "hansard.db",
            "log's end": self.servers / "hansard.db-wal",
            "owner's key": node / "keys" / "owner.key",
            "views": node / "views" / "views.db",
            "workspace of another": node / "workspaces" / "other" / "tree-1" / "file",
            "home of another": node / "homes" / "other" / "history",
            "agent's home of another": node / "agents" / "homes" / "0123" / "credentials",
            "checkout": self.checkout / ".env",
            "checkout's repository": self.checkout / ".git" / "config",
            "key of the account": self.home / ".ssh" / "id_ed25519",
            "passwords of the account": self.home / ".netrc",
            "settings beside a program": self.home / ".tool" / "credentials.json",
            "file beside the log": self.servers / "notes",
        }

    def folders(self) -> dict[str, Path]:
        node = self.servers / "node"
        return {
            "beside the log": self.servers / "beside",
            "keys": node / "keys",
            "workspace of another": node / "workspaces" / "other" / "tree-1",
            "checkout": self.checkout / "src",
            "hooks of the checkout": self.checkout / ".git" / "hooks",
            "home": self.home,
            "programs": self.home / ".tool" / "bin",
        }

    def _sockets(self) -> dict[str, str]:
        """Unix sockets that greet every client, by their kind."""
        name = f"hansard-test-{self.mark}"
        places = {
            "runtime folder": str(self.runtime / "bus"),
            "home": str(self.home / "agent.sock"),
            "beside a program": str(self.home / ".tool" / "run.sock"),
            "beside the log": str(self.servers / "socket"),
            "checkout": str(self.checkout / ".git" / "s"),
            "no name": f"\0{name}",
        }
        for root in ("/tmp", "/var/tmp", "/run", "/dev/shm"):
            if os.access(root, os.W_OK):
                folder = tempfile.mkdtemp(prefix=f"{name}-", dir=root)
                self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
                places[root] = f"{folder}/s"
        for address in places.values():
            self._greet(socket.AF_UNIX, address)
        return places

    def _greet(self, family: int, address: object) -> int:
        listener = socket.socket(family)
        listener.bind(address)  # type: ignore[arg-type]
        listener.listen()
        self._run(listener, _greeting)
        return int(listener.getsockname()[1]) if family != socket.AF_UNIX else 0

    def _echo(self) -> int:
        listener = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", 0))
        self._run(listener, _echoing)
        return int(listener.getsockname()[1])

    def _run(self, listener: socket.socket, work: Any) -> None:
        thread = threading.Thread(target=work, args=(listener,), daemon=True)
        thread.start()
        self._stack.callback(_end, listener, thread)

    def _addresses(self) -> dict[str, tuple[int, str]]:
        result = {"loopback": (int(socket.AF_INET), "127.0.0.1"), "any": (int(socket.AF_INET), "0.0.0.0")}  # noqa: S104
        result["loopback of IPv6"] = (int(socket.AF_INET6), "::1")
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # no packet is sent; it says which address would be used
            result["machine"] = (int(socket.AF_INET), probe.getsockname()[0])
        return result

    def _write_place(self, name: str, *, control: bool) -> Path:
        for target in self.folders().values():  # a control may have used them up
            for decoy in ("doomed-agent", "doomed-validation"):
                (target / decoy).write_bytes(SECRET)
        waiting = self._waiting()
        listener = getattr(self, "_tcp", None)
        if listener is None:
            self._tcp, self._udp = self._greet(socket.AF_INET6, ("::", 0)), self._echo()
            self._memory = self._shared_memory()
        place = {
            "control": control,
            "report": "attacks-{actor}.json",
            "mark": self.mark,
            "pid": self.server.pid,
            "decoy": self.decoy.pid,
            "root": str(ROOT),
            "node": str(self.server.data),
            "port": self.server.port,
            "key": self._key if control else "",
            "session": waiting,
            "planted": str(self.planted if not control else self.folder / "planted-by-control"),
            "secret": {target: str(path) for target, path in self.secrets().items()},
            "folder": {target: (str(path), _number(path)) for target, path in self.folders().items()},
            "socket": self.sockets,
            "address": self._addresses(),
            "tcp": self._tcp,
            "udp": self._udp,
            "device": {path[5:]: path for path in ("/dev/vda", "/dev/sda", "/dev/nvme0n1") if _readable(path)},
            "request": [line.replace("{id}", waiting) for line in REQUESTS],
            **self._memory,
        }
        path = (self.checkout if not control else self.folder) / name
        path.write_text(json.dumps(place))
        return path

    def _waiting(self) -> str:
        """A review that waits for a person."""
        body = {"kind": "review", "subject": "x", "maxRounds": 1, "scenario": {"replies": {}}}
        answer = self.server.client.post("/api/sessions", json=body)
        session_id = str(answer.json()["sessionId"])
        address = f"/api/sessions/{session_id}"
        until(
            lambda: self.server.client.get(address).json()["session"]["status"] == "waiting_for_decision",
            what="the decision",
        )
        return session_id

    def _shared_memory(self) -> Mapping[str, object]:
        """A file, a segment and, where the numbers of the calls are known, an entry of the account's keyring."""
        libc = ctypes.CDLL(None, use_errno=True)
        shared = Path(f"/dev/shm/hansard-test-{self.mark}")
        shared.write_bytes(SECRET)
        self._stack.callback(shared.unlink, missing_ok=True)
        segment = libc.shmget(self.mark, 4_096, 0o1600)
        self._stack.callback(libc.shmctl, segment, 0, None)
        result: dict[str, object] = {"shared": str(shared), "segment": self.mark}
        add, keyctl = KEYCTL.get(os.uname().machine, (0, 0))
        name = f"hansard-test-{self.mark}"
        if add and (entry := libc.syscall(add, b"user", name.encode(), b"x", 1, -4)) > 0:
            self._stack.callback(libc.syscall, keyctl, 9, entry, -4)
            result |= {"keyring": name, "keyctl": keyctl}
        return result

    def _report(self, session_id: str, actor: str) -> dict[str, bool]:
        [report] = (self.server.data / "workspaces" / session_id).glob(f"tree-*/attacks-{actor}.json")
        done: dict[str, bool] = json.loads(report.read_text())
        return done

    def _end_decoy(self) -> None:
        self.decoy.kill()
        self.decoy.wait()


def team(folder: Path) -> Path:
    """A team whose developer attacks. It is shown the program of this server, so that it can try the command line."""
    shown = [str(ROOT / room) for room in ("api", "adapters", "projections", "domain")]
    argv = [sys.executable, "-I", "attacks.py", "place.json", "agent"]
    path = folder / "team.toml"
    path.write_text(
        '[[agents]]\nname = "Team"\nroles = ["planner", "architect", "designer", "reviewer"]\nadapter = "scripted"\n'
        '[[agents]]\nname = "Dev"\nroles = ["dev"]\nadapter = "command"\n[agents.settings]\n'
        f"argv = {json.dumps(argv)}\nreadable = {json.dumps(shown)}\n"
    )
    return path


@contextlib.contextmanager
def scene(folder: Path, **settings: object) -> Iterator[Scene]:
    result = Scene(folder, team=team(folder), **settings)
    try:
        yield result
    finally:
        for actor in ("agent", "validation"):
            result.end_survivors(actor)
        result.close()


def _greeting(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            line, _ = listener.accept()
            with line, contextlib.suppress(OSError):
                line.sendall(b"hello")


def _echoing(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            words, sender = listener.recvfrom(64)
            if words == b"end":
                return
            listener.sendto(words, sender)


def _end(listener: socket.socket, thread: threading.Thread) -> None:
    if listener.type == socket.SOCK_DGRAM:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as last:
            last.sendto(b"end", ("::1", listener.getsockname()[1]))
    else:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=5)
    listener.close()


def _number(path: Path) -> tuple[int, int]:
    result = path.stat()
    return result.st_dev, result.st_ino


def _readable(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True
