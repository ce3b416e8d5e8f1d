"""A PostgreSQL server of the tests' own, in a temporary folder; it ends with the process that started it.

Without PostgreSQL (15 or newer, with `psycopg`) tests that need it are skipped and say so; with CI=true they fail.
"""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

USER = "hansard"


def _as_account(*command: object) -> list[str]:
    """The command under an account that PostgreSQL accepts: it refuses root."""
    who = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", *who, "--pdeathsig=QUIT", *map(str, command)]


def _run(*command: object) -> None:
    result = subprocess.run(_as_account(*command), capture_output=True, text=True, cwd="/", check=False)
    assert result.returncode == 0, result.stderr


def _folder() -> Path:
    """A new temporary folder of that account."""
    result = Path(tempfile.mkdtemp(prefix="hansard-pg-", dir=os.environ.get("TESTS_IN_MEMORY")))
    if os.getuid() == 0:
        account = pwd.getpwnam("postgres")
        os.chown(result, account.pw_uid, account.pw_gid)
    return result


@cache
def _empty(programs: Path) -> Path:
    """The data of a new server, made once in each process and copied: making it takes seconds."""
    folder = _folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    how = ("-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "--wal-segsize=1")
    _run(programs / "initdb", "-D", folder / "data", *how)
    return folder / "data"


class Cluster:
    """One server, on a socket in its folder and on a port of the loopback address with a password."""

    def __init__(self, programs: Path, *, starts: bool = True, **settings: str) -> None:
        self._programs, self.folder = programs, _folder()
        self._settings_of_its_own = settings
        self._settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "shared_buffers": "16MB",
            "max_connections": "100",
            "log_min_messages": "fatal",
            **settings,
        }
        self._used: dict[Path, str] = {}
        self._free: list[str] = []
        self._count, self._password = 0, ""
        self._handing_out = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        if starts:
            _run("cp", "-R", _empty(programs), self._data)
            self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    # -- its life --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as output:
            self._server = subprocess.Popen(
                _as_account(self._programs / "postgres", "-D", self._data, *settings),
                stdout=output,
                stderr=output,
                cwd="/",
            )
        until = time.monotonic() + 30
        while not self._answers():
            assert self._server.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until
            time.sleep(0.02)

    def _answers(self) -> bool:
        asked = [str(self._programs / "pg_isready"), "-q", "-h", str(self.folder), "-t", "1"]
        return subprocess.run(asked, check=False).returncode == 0

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT disconnects all clients, SIGQUIT is a crash."""
        server, self._server = self._server, None
        if server is not None:
            server.send_signal(how)
            server.wait(30)

    @classmethod
    def standby(cls, primary: "Cluster") -> "Cluster":
        """A server that follows another one, through its socket."""
        result = cls(primary._programs, starts=False, **primary._settings_of_its_own)
        _run("rm", "-rf", result._data)
        copy = primary._programs / "pg_basebackup"
        _run(copy, "-h", primary.folder, "-U", USER, "-D", result._data, "-R", "-X", "stream", "-c", "fast")
        result.start()
        return result

    def replayed(self, primary: "Cluster") -> bool:
        """Whether this standby has everything of its primary."""
        [(written,)] = primary.sql("SELECT pg_current_wal_lsn()::text")
        return self.sql(f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn") == [(True,)]

    def hold_back(self) -> None:
        """Take nothing more from the primary: what it writes from now on is lost with it."""
        self.sql("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        until = time.monotonic() + 10
        while self.sql("SELECT count(*) FROM pg_stat_wal_receiver") != [(0,)]:
            assert time.monotonic() < until
            time.sleep(0.02)

    def keep(self) -> None:
        """Keep a copy of its data as they are now; it is stopped for that."""
        self.stop()
        _run("rm", "-rf", f"{self._data}.kept")
        _run("cp", "-R", self._data, f"{self._data}.kept")
        self.start()

    def restore(self) -> None:
        """Put the kept copy in place of its data, as an operator would; it is stopped for that."""
        self.stop()
        _run("rm", "-rf", self._data)
        _run("cp", "-R", f"{self._data}.kept", self._data)
        self.start()

    def freeze(self) -> None:
        """It no longer answers, and its connections stay open."""
        for process in self._processes():
            os.kill(process, signal.SIGSTOP)

    def thaw(self) -> None:
        for process in self._processes():
            os.kill(process, signal.SIGCONT)

    def _processes(self) -> list[int]:
        assert self._server is not None
        result = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children").read_text().split()
        return [self._server.pid, *map(int, result)]

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- its databases ---------------------------------------------------------------------------------------------

    def database(self, path: Path) -> str:
        """The URL of a database that is a test's own until it is freed."""
        with self._handing_out:
            if path not in self._used:
                self._used[path] = self._free.pop() if self._free else self._new()
            return self.url(self._used[path])

    def _new(self) -> str:
        self._count += 1
        self.sql(f"CREATE DATABASE log_{self._count}")
        return f"log_{self._count}"

    def free(self, folder: Path) -> None:
        """Empty the databases of a test, for others: many small ones take longer to make and to remove."""
        with self._handing_out:
            for path in [path for path in self._used if path.is_relative_to(folder)]:
                name = self._used.pop(path)
                self.sql(
                    f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <>"
                    " pg_backend_pid()",
                    "DROP SCHEMA IF EXISTS hansard CASCADE",
                    database=name,
                )
                self._free.append(name)

    def url(self, name: str, *, password: str = "") -> str:
        return f"postgresql://{USER}{f':{password}' if password else ''}@/{name}?host={self.folder}"

    def ask_for_passwords(self, password: str) -> None:
        """From now on no one gets in without it, not even the superuser."""
        self.sql(f"ALTER ROLE {USER} PASSWORD '{password}'")
        (self.folder / "data" / "pg_hba.conf").write_text(
            "local all all scram-sha-256\nhost all all all scram-sha-256\n"
        )
        self._password = password
        assert self._server is not None
        self._server.send_signal(signal.SIGHUP)
        until = time.monotonic() + 10
        while self._trusts():
            assert time.monotonic() < until
            time.sleep(0.02)

    def _trusts(self) -> bool:
        asked = [
            str(self._programs / "psql"),
            "-w",
            "-h",
            str(self.folder),
            "-U",
            USER,
            "-d",
            "postgres",
            "-c",
            "SELECT 1",
        ]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    def sql(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements as the superuser; the rows of the last one."""
        import psycopg

        with psycopg.connect(self.url(database, password=self._password), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def programs() -> Path | None:
    """Where PostgreSQL is installed."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


@cache
def missing() -> str | None:
    """Why there is no PostgreSQL here."""
    if programs() is None:
        return "PostgreSQL is not installed: no initdb"
    if shutil.which("setpriv") is None:
        return "setpriv is not installed"
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        return f"psycopg is not installed: {error}"
    return None


def require() -> Path:
    """PostgreSQL's programs; skips the test without, or fails it with CI=true."""
    why, result = missing(), programs()
    if why is None and result is not None:
        return result
    if os.environ.get("CI") == "true":
        pytest.fail(f"This test needs PostgreSQL: {why}")
    pytest.skip(f"NOT TESTED ON POSTGRESQL: {why}")


@cache
def cluster() -> Cluster:
    """The server that the tests of this process share."""
    result = Cluster(require())
    atexit.register(result.remove)
    return result
