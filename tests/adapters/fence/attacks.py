"""What an agent or a validation command tries: a program of its own, started as `python -I attacks.py PLACE ACTOR`.

`PLACE` is a JSON file that says what is attacked (`Scene`). Every try is an entry of the report that it names:
`family/technique/target` and whether it succeeded. It only imports what comes with Python, and it changes nothing
but what the scene has put there for it; without a fence every try succeeds.
"""

import contextlib
import ctypes
import glob
import json
import mmap
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Try = tuple[str, Callable[[], object]]
"""Its name, and what returns something true where it succeeds."""
SECRET = b"hansard-canary"
"""What every file that must not be read begins with, but databases; what every variable that must not be read holds."""
BIG = 2 << 30
C = ctypes.CDLL(None, use_errno=True)


def tries(place: dict[str, Any], actor: str) -> Iterator[Try]:
    yield "processes/leaked/descriptors", lambda: place["control"] or leaked()
    for family in (reads, writes, kernel, environments, processes, memory, sockets, addresses, server, disk, plants):
        yield from family(place, actor)
    yield from command_line(place, actor)
    yield from survivors(place, actor)


# -- files -----------------------------------------------------------------------------------------------------------


def reads(place: dict[str, Any], actor: str) -> Iterator[Try]:
    for target, path in place["secret"].items():
        for technique in READS:
            yield f"{family_of(technique)}/{technique.__name__}/{target}", lambda t=technique, p=path: t(p, place)


def family_of(technique: Callable[..., object]) -> str:
    return "metadata" if technique in (read_size, write_mode, write_times) else "files"


def read_open(path: str, place: dict[str, Any]) -> object:
    return Path(path).read_bytes()


def read_cat(path: str, place: dict[str, Any]) -> object:
    return output("cat", path)


def read_link(path: str, place: dict[str, Any]) -> object:
    link = scratch() / "link"
    link.symlink_to(path)
    return link.read_bytes()


def read_hard_link(path: str, place: dict[str, Any]) -> object:
    link = Path(f"{path}.hard") if place["control"] else scratch() / "hard"
    os.link(path, link)
    with contextlib.suppress(OSError):
        return link.read_bytes() and link.unlink() is None
    return False


def read_relative(path: str, place: dict[str, Any]) -> object:
    return Path(os.path.relpath(path)).read_bytes()


def read_own_root(path: str, place: dict[str, Any]) -> object:
    return Path(f"/proc/self/root{path}").read_bytes()


def read_first_root(path: str, place: dict[str, Any]) -> object:
    if place["control"] and not os.path.exists(f"/proc/1/root{path}"):
        return True  # this machine is a container of another
    return Path(f"/proc/1/root{path}").read_bytes()


def read_parents_root(path: str, place: dict[str, Any]) -> object:
    return Path(f"/proc/{os.getppid()}/root{path}").read_bytes()


def read_servers_root(path: str, place: dict[str, Any]) -> object:
    return Path(f"/proc/{place['pid']}/root{path}").read_bytes()


def read_servers_folder(path: str, place: dict[str, Any]) -> object:
    return Path(f"/proc/{place['pid']}/cwd/{os.path.relpath(path, place['root'])}").read_bytes()


def read_descriptor(path: str, place: dict[str, Any]) -> object:
    opened = os.open(path, os.O_PATH)
    return Path(f"/proc/self/fd/{opened}").read_bytes()


def read_step_by_step(path: str, place: dict[str, Any]) -> object:
    folder = os.open("/", os.O_RDONLY)
    for part in Path(path).parts[1:-1]:
        folder = os.open(part, os.O_PATH, dir_fd=folder)
    return os.read(os.open(Path(path).name, os.O_RDONLY, dir_fd=folder), 8)


def read_mapped(path: str, place: dict[str, Any]) -> object:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        return mapped[:8]


def read_copied(path: str, place: dict[str, Any]) -> object:
    return Path(shutil.copy(path, scratch() / "copy")).read_bytes()


def read_listed(path: str, place: dict[str, Any]) -> object:
    return Path(path).name in os.listdir(Path(path).parent)


def read_size(path: str, place: dict[str, Any]) -> object:
    return os.stat(path).st_size


def read_searched(path: str, place: dict[str, Any]) -> object:
    return output("find", str(Path(path).parent), "-maxdepth", "1", "-name", Path(path).name)


def read_archived(path: str, place: dict[str, Any]) -> object:
    return output("tar", "-cPf", "-", path)


def read_namespace(path: str, place: dict[str, Any]) -> object:
    """As root of a user namespace of its own, with the folder mounted elsewhere."""
    words = f"mount --bind {Path(path).parent} {scratch()} 2>/dev/null; cat {path}"
    return output("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", words)


def read_uncovered(path: str, place: dict[str, Any]) -> object:
    """With what may cover it taken away, in a user namespace of its own."""
    covers = " ".join(dict.fromkeys(("/tmp", "/run", str(Path(path).parent))))
    words = f"umount -l {covers} 2>/dev/null; cat {path}"
    return output("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", words)


READS = (
    *(read_open, read_cat, read_link, read_hard_link, read_relative, read_own_root, read_first_root, read_parents_root),
    *(read_servers_root, read_servers_folder, read_descriptor, read_step_by_step, read_mapped, read_copied),
    *(read_listed, read_size, read_searched, read_archived, read_namespace, read_uncovered),
)


def writes(place: dict[str, Any], actor: str) -> Iterator[Try]:
    for target, (folder, number) in place["folder"].items():
        for technique in WRITES:
            yield (
                f"{family_of(technique)}/{technique.__name__}/{target}",
                lambda t=technique, f=folder, n=number: is_same(f, n) and t(Path(f), actor),
            )
    for target in ("/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/opt", "/var/lib", "/home", "/root"):
        if os.path.isdir(target) and (os.geteuid() == 0 or not place["control"]):
            yield f"files/write_unnamed{target}", lambda t=target: write_unnamed(Path(t), actor)


def is_same(folder: str, number: list[int]) -> bool:
    """Whether the folder is the one of the scene, and not one of the same name inside the fence."""
    result = os.stat(folder)
    return [result.st_dev, result.st_ino] == number


def write_new(folder: Path, actor: str) -> object:
    return (folder / f"new-{actor}").write_bytes(b"x")


def write_over(folder: Path, actor: str) -> object:
    with open(folder / "decoy", "r+b") as file:
        return file.write(b"x")


def write_end(folder: Path, actor: str) -> object:
    with open(folder / "decoy", "ab") as file:
        return file.write(b"x")


def write_truncated(folder: Path, actor: str) -> object:
    os.truncate(folder / "decoy", 4)
    return True


def write_folder(folder: Path, actor: str) -> object:
    (folder / f"folder-{actor}").mkdir()
    return True


def write_link(folder: Path, actor: str) -> object:
    (folder / f"link-{actor}").symlink_to("/etc/passwd")
    return True


def write_renamed(folder: Path, actor: str) -> object:
    os.rename(folder / "decoy", folder / "decoy")
    return True


def write_removed(folder: Path, actor: str) -> object:
    os.unlink(folder / f"doomed-{actor}")
    return True


def write_mode(folder: Path, actor: str) -> object:
    os.chmod(folder / "decoy", 0o666)
    return True


def write_times(folder: Path, actor: str) -> object:
    os.utime(folder / "decoy", (1, 1))
    return True


def write_unnamed(folder: Path, actor: str) -> object:
    os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    return True


def write_descriptor(folder: Path, actor: str) -> object:
    opened = os.open(folder / "decoy", os.O_PATH)
    with open(f"/proc/self/fd/{opened}", "r+b") as file:
        return file.write(b"x")


def write_socket(folder: Path, actor: str) -> object:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{os.open(folder, os.O_PATH)}/s-{actor}")  # a name has 107 bytes at most
    return True


def write_shell(folder: Path, actor: str) -> object:
    return subprocess.run(["sh", "-c", f"echo x >> {folder}/decoy"], stderr=subprocess.DEVNULL).returncode == 0


WRITES = (
    *(write_new, write_over, write_end, write_truncated, write_folder, write_link, write_renamed, write_removed),
    *(write_mode, write_times, write_unnamed, write_descriptor, write_socket, write_shell),
)


# -- the machine -----------------------------------------------------------------------------------------------------


def kernel(place: dict[str, Any], actor: str) -> Iterator[Try]:
    """Opened for writing, never written."""
    settings = ("core_pattern", "hostname", "modprobe", "panic", "yama/ptrace_scope", "randomize_va_space")
    result = [*(f"/proc/sys/kernel/{name}" for name in settings), "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"]
    result += ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/file-max", "/sys/kernel/profiling", "/sys/power/state"]
    for path in result:
        if os.geteuid() == 0 and os.path.exists(path):
            yield f"files/set{path}", lambda p=path: os.open(p, os.O_WRONLY)
    if os.geteuid() == 0:
        yield "files/make_device/disk", make_device
        yield "files/capability/any", lambda: int(status("CapEff"), 16)
    for name, path in place["device"].items():
        yield f"files/read_device/{name}", lambda p=path: os.open(p, os.O_RDONLY)


def make_device() -> object:
    path = scratch() / "device"
    os.mknod(path, 0o600 | stat.S_IFBLK, os.stat("/").st_dev)
    path.unlink()
    return True


def environments(place: dict[str, Any], actor: str) -> Iterator[Try]:
    for name, pattern in {
        "server": f"/proc/{place['pid']}/environ",
        "threads": f"/proc/{place['pid']}/task/*/environ",
        "parent": f"/proc/{os.getppid()}/environ",
        "first": "/proc/1/environ",
        "own": "/proc/self/environ",
        "all": "/proc/[0-9]*/environ",
    }.items():
        if name not in ("parent", "first", "own") or not place["control"]:
            yield f"processes/environ/{name}", lambda p=pattern: SECRET in b"".join(read_all(p))
    yield "processes/ps/all", lambda: SECRET.decode() in output("ps", "axeww")


def read_all(pattern: str) -> Iterator[bytes]:
    for path in glob.glob(pattern):
        with contextlib.suppress(OSError):
            yield Path(path).read_bytes()


def leaked() -> list[str]:
    """Descriptors that the program inherited in addition to the usual three."""
    result = [f"/proc/self/fd/{number}" for number in range(3, 64) if os.path.exists(f"/proc/self/fd/{number}")]
    return [os.readlink(path) for path in result]


def processes(place: dict[str, Any], actor: str) -> Iterator[Try]:
    for name, pid in {"server": place["pid"], "decoy": place["decoy"]}.items():
        for part in ("cmdline", "status", "stat", "maps", "mounts", "cgroup", "net/unix"):
            yield f"processes/{part}/{name}", lambda p=pid, part=part: Path(f"/proc/{p}/{part}").read_bytes()
        yield f"processes/descriptors/{name}", lambda p=pid: os.listdir(f"/proc/{p}/fd")
        yield f"processes/program/{name}", lambda p=pid: os.readlink(f"/proc/{p}/exe")
        yield f"processes/handle/{name}", lambda p=pid: os.pidfd_open(p)
        yield f"processes/signal/{name}", lambda p=pid: os.kill(p, 0) is None
        yield f"processes/session/{name}", lambda p=pid: os.getsid(p)
        yield f"processes/memory/{name}", lambda p=pid: copied_memory(p)
    yield "processes/stop/decoy", lambda: os.kill(place["decoy"], signal.SIGCONT) is None
    yield "processes/slow/decoy", lambda: os.setpriority(os.PRIO_PROCESS, place["decoy"], 5) is None
    yield "processes/namespace/server", lambda: os.open(f"/proc/{place['pid']}/ns/mnt", os.O_RDONLY)
    yield "processes/list/any", lambda: str(place["pid"]) in output("ps", "axo", "pid").split()


def copied_memory(pid: int) -> bool:
    """Eight bytes out of the memory of another process, from the first place that it can read itself."""
    where = int(Path(f"/proc/{pid}/maps").read_text().partition("-")[0], 16)

    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    here = ctypes.create_string_buffer(8)
    ours, theirs = Vector(ctypes.addressof(here), 8), Vector(where, 8)
    C.process_vm_readv.restype = ctypes.c_ssize_t
    return bool(C.process_vm_readv(pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) == 8)


def memory(place: dict[str, Any], actor: str) -> Iterator[Try]:
    yield "shared_memory/file/dev", lambda: Path(place["shared"]).read_bytes()
    yield "shared_memory/segment/system-v", lambda: C.shmget(place["segment"], 0, 0) >= 0
    if "keyring" in place:
        yield (
            "shared_memory/keyring/user",
            lambda: C.syscall(place["keyctl"], 10, -4, b"user", place["keyring"].encode(), 0) > 0,
        )


def sockets(place: dict[str, Any], actor: str) -> Iterator[Try]:
    for name, path in place["socket"].items():
        yield f"sockets/connect/{name}", lambda p=path: greeted(socket.AF_UNIX, p)
        if not path.startswith("\0"):
            yield f"sockets/step_by_step/{name}", lambda p=path: greeted_inside(Path(p))
            yield f"sockets/servers_root/{name}", lambda p=path: greeted_inside(Path(f"/proc/{place['pid']}/root{p}"))
            yield f"sockets/linked/{name}", lambda p=path: greeted_by_link(p)


def greeted(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as line:
        line.settimeout(3)
        line.connect(address)  # type: ignore[arg-type]
        return line.recv(5) == b"hello"


def greeted_inside(path: Path) -> bool:
    folder = os.open(path.parent, os.O_PATH)
    return greeted(socket.AF_UNIX, f"/proc/self/fd/{folder}/{path.name}")


def greeted_by_link(path: str) -> bool:
    link = scratch() / "s"
    link.symlink_to(path)
    return greeted(socket.AF_UNIX, str(link))


def addresses(place: dict[str, Any], actor: str) -> Iterator[Try]:
    """Of no use to an agent with network, which may reach any."""
    if actor != "validation":
        yield "network/machine/vsock", lambda: has_vsock(place)
        return
    for name, (family, host) in place["address"].items():
        yield f"network/tcp/{name}", lambda f=family, h=host: greeted(f, (h, place["tcp"]))
        yield (
            f"network/shell/{name}",
            lambda h=host: "hello" in output("bash", "-c", f"head -c5 </dev/tcp/{h}/{place['tcp']}"),
        )
        yield f"udp/echo/{name}", lambda f=family, h=host: echoed(f, (h, place["udp"]))
        yield f"udp/connected/{name}", lambda f=family, h=host: echoed(f, (h, place["udp"]), connect=True)
    yield "network/server/socket", lambda: connected(socket.AF_INET, ("127.0.0.1", place["port"]))
    yield "network/server/urllib", lambda: fetched(f"http://127.0.0.1:{place['port']}/healthz")
    yield "network/machine/vsock", lambda: has_vsock(place)
    yield (
        "network/namespace/tcp",
        lambda: (
            "hello"
            in output(
                "unshare", "--user", "--map-root-user", "bash", "-c", f"head -c5 </dev/tcp/127.0.0.1/{place['tcp']}"
            )
        ),
    )
    yield "network/entered/server", lambda: place["control"] or entered(place)


def connected(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as line:
        line.settimeout(3)
        line.connect(address)  # type: ignore[arg-type]
        return True


def echoed(family: int, address: Any, *, connect: bool = False) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as line:
        line.settimeout(1)
        if connect:
            line.connect(address)
            line.send(b"ping")
        else:
            line.sendto(b"ping", address)
        return line.recv(4) == b"ping"


def fetched(url: str) -> bool:
    from urllib.request import urlopen

    with urlopen(url, timeout=3) as answer:
        return bool(answer.status == 200)


def has_vsock(place: dict[str, Any]) -> bool:
    if not hasattr(socket, "AF_VSOCK"):
        return bool(place["control"])
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError:
        return bool(place["control"] and not os.path.exists("/dev/vsock"))
    return True


def entered(place: dict[str, Any]) -> bool:
    return bool(C.setns(os.open(f"/proc/{place['pid']}/ns/net", os.O_RDONLY), 0) == 0)


# -- this server -----------------------------------------------------------------------------------------------------


def server(place: dict[str, Any], actor: str) -> Iterator[Try]:
    """Anything but 401; a Host that is not the server's is 421, and what is no HTTP is 400."""
    for line in place["request"]:
        for name, headers in HEADERS.items():
            if name == "plain" or line.startswith(("GET /api/sessions ", "POST /api/sessions/")):
                key = f"Authorization: Bearer {place['key']}\r\n" if place["control"] else ""
                yield f"server/{name}/{line}", lambda w=line, h=headers, k=key: answered(place, w, k or h)


HEADERS = {
    "plain": "",
    "empty key": "Authorization: Bearer \r\n",
    "wrong key": "Authorization: Bearer hansard_0123456789012345678901234567890123456789012\r\n",
    "basic": "Authorization: Basic b3duZXI6b3duZXI=\r\n",
    "two keys": "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
    "cookie": "Cookie: hansard=owner; hansard_login=owner; session=owner\r\n",
    "forwarded": "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\n",
    "another user": "X-Remote-User: owner\r\nX-Forwarded-User: owner\r\nX-Actor: person:owner\r\n",
    "another method": "X-HTTP-Method-Override: GET\r\n",
    "another path": "X-Original-URL: /healthz\r\nX-Rewrite-URL: /healthz\r\n",
}


def answered(place: dict[str, Any], line: str, headers: str) -> bool:
    with socket.create_connection(("127.0.0.1", place["port"]), timeout=5) as wire:
        body = b'{"decision": "accept", "choice": "accept", "workspace": "/"}' if line.startswith("POST") else b""
        head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: application/json\r\n{headers}"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        wire.sendall(head.encode() + body)
        status = wire.recv(64).partition(b" ")[2][:3]
    return status not in (b"401", b"400", b"421", b"")


def command_line(place: dict[str, Any], actor: str) -> Iterator[Try]:
    """Only agents are shown the program: it is not on the machine's PATH."""
    if actor == "validation":
        return
    session, url = place["session"], f"http://127.0.0.1:{place['port']}"
    log = {"HANSARD_DATABASE": f"sqlite:///{place['secret']['log']}", "HANSARD_DATA_DIR": place["node"]}
    remote = {"HANSARD_DATA_DIR": place["node"]}
    yield "files/command/list of the log", lambda: hansard(place, log, "list", "--json", shows=session)
    yield "files/command/show from the log", lambda: hansard(place, log, "show", session, "--json")
    yield "files/command/decide in the log", lambda: hansard(place, log, "decide", session, "accept")
    yield (
        "files/command/list over HTTP",
        lambda: hansard(place, remote, "list", "--json", "--server", url, shows=session),
    )
    yield "files/command/decide over HTTP", lambda: hansard(place, remote, "decide", session, "accept", "--server", url)


def hansard(place: dict[str, Any], settings: dict[str, str], *words: str, shows: str = "") -> bool:
    """Whether the command did what it was asked, and its output `shows` this: a log that nobody can see has empty
    lists."""
    env = {**os.environ, **settings, "PYTHONPATH": place["root"], "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, "-m", "api", *words], env=env, capture_output=True, timeout=30, cwd=scratch()
    )
    # 4: understood and refused by the state of the session, which only whoever may decide is told
    return result.returncode in (0, 4) and b"Traceback" not in result.stderr and shows.encode() in result.stdout


# -- the disk, and what comes afterwards -------------------------------------------------------------------------------


def disk(place: dict[str, Any], actor: str) -> Iterator[Try]:
    """Room for more than is good for the machine, outside of the workspace."""
    for folder in ("/", "/tmp", "/var/tmp", "/run", "/dev", "/dev/shm"):
        if os.geteuid() == 0 or not place["control"]:
            family = "shared_memory" if folder == "/dev/shm" else "files"
            yield f"{family}/room{folder}", lambda f=folder: place["control"] or roomy(f)


def roomy(folder: str) -> bool:
    with tempfile.NamedTemporaryFile(dir=folder):
        result = os.statvfs(folder)
        return result.f_blocks * result.f_frsize > BIG


def plants(place: dict[str, Any], actor: str) -> Iterator[Try]:
    """What the server would run if it trusted the workspace. Whether it did is looked at afterwards."""
    if actor == "agent":
        yield "planted/git/settings", lambda: plant(place) and place["control"]


def plant(place: dict[str, Any]) -> bool:
    script = Path(".git/planted")
    script.write_text(f"#!/bin/sh\ntouch {place['planted']}\ncat 2>/dev/null\n")
    script.chmod(0o755)
    path = script.absolute()
    hooks = "".join(f"\t{name} = {path}\n" for name in ("fsmonitor", "editor", "pager", "sshCommand", "askPass"))
    filters = f'[filter "planted"]\n\tclean = {path}\n\tsmudge = {path}\n[diff "planted"]\n\ttextconv = {path}\n'
    with open(".git/config", "a") as file:
        file.write(f"[core]\n{hooks}\thooksPath = {path.parent}\n{filters}[gpg]\n\tprogram = {path}\n")
    for name in ("pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction"):
        shutil.copy(path, path.parent / name)
    Path(".gitattributes").write_text("* filter=planted diff=planted\n")
    for name in ("git", "sitecustomize.py", "usercustomize.py"):
        shutil.copy(path, name)
    if place["control"]:
        subprocess.run(["git", "status"], capture_output=True)
    return os.path.exists(place["planted"])


def survivors(place: dict[str, Any], actor: str) -> Iterator[Try]:
    """Processes that are to outlive the turn. Whether they do is looked at afterwards, by the number in their words."""
    nap = f"90.{place['mark']}"
    for number, (name, words) in enumerate(LEAVING.items()):
        sleep = ["/usr/bin/sleep", f"{nap}{actor == 'agent':d}{number:02d}"]
        yield f"survivors/{name}", lambda w=words, s=sleep: leave([*w, *s])
    for number, (name, technique) in enumerate(FORKING.items(), start=len(LEAVING)):
        sleep = ["/usr/bin/sleep", f"{nap}{actor == 'agent':d}{number:02d}"]
        yield f"survivors/{name}", lambda t=technique, s=sleep: fork(t, s)


LEAVING = {
    "setsid": ["setsid", "-f"],
    "cleaned environment": ["env", "-i", "/usr/bin/setsid", "-f"],
    "nohup": ["nohup"],
    "own user namespace": ["setsid", "-f", "unshare", "--user", "--fork"],
    "own process namespace": ["setsid", "-f", "unshare", "--user", "--map-root-user", "--pid", "--fork"],
    "twice": ["setsid", "-f", "setsid", "-f", "env", "-i", "/usr/bin/setsid", "-f"],
    "lower priority": ["setsid", "-f", "nice", "-n", "19"],
    "from the root folder": ["env", "-C", "/", "-i", "/usr/bin/setsid", "-f"],
}


def leave(words: list[str]) -> bool:
    """Started in the background, and never waited for."""
    quiet = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet)
    return False


def fork(technique: Callable[[], None], sleep: list[str]) -> bool:
    if (child := os.fork()) == 0:
        if os.fork() == 0:
            technique()
            for number in range(3):
                os.dup2(os.open("/dev/null", os.O_RDWR), number)
            os.execve(sleep[0], sleep, {})
        os._exit(0)
    os.waitpid(child, 0)
    return False


def ignoring() -> None:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def hidden() -> None:
    os.setsid()
    C.prctl(4, 0, 0, 0, 0)  # no one may look into it


def unbound() -> None:
    os.setsid()
    C.prctl(1, 0, 0, 0, 0)  # no signal when the parent dies
    os.chdir("/")


def grouped() -> None:
    os.setpgid(0, 0)


def generations() -> None:
    for _ in range(8):
        os.setsid() if os.getsid(0) != os.getpid() else None
        if os.fork():
            os._exit(0)


FORKING = {"double fork": os.setsid, "deaf": ignoring, "hidden": hidden, "unbound": unbound, "own group": grouped}
FORKING |= {"generations": generations}


# -- the program -----------------------------------------------------------------------------------------------------


def scratch() -> Path:
    return Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))


def status(name: str) -> str:
    return next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))


def output(*words: str) -> str:
    result = subprocess.run(words, capture_output=True, timeout=15)
    return result.stdout.decode(errors="replace") if result.returncode == 0 else ""


def tried(attempt: Callable[[], object]) -> bool:
    try:
        return bool(attempt())
    except Exception:
        return False


def main(place: str, actor: str) -> None:
    began = time.monotonic()
    scene = json.loads(Path(place).read_text())
    done = {name: tried(attempt) for name, attempt in tries(scene, actor)}
    Path(scene["report"].format(actor=actor)).write_text(json.dumps(done))
    print(f"tried {len(done)} in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
