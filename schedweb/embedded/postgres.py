"""One PostgreSQL server as a child process: initialize, start, monitor and stop it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import psycopg

from schedweb.embedded import bound
from schedweb.embedded.places import Places, create_places

ROLE = "schedweb"
DATABASE = "schedweb"

#: The last processes of a server that has ended can hold its data folder for a moment.
START_SECONDS = 20.0
#: After this time a server whose owner has ended is stopped at once, without its checkpoint. A
#: server that is told to stop while it recovers from the crash of a connection can wait forever.
PREDECESSOR_SECONDS = 8.0
STOP_SECONDS = 20.0

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "300",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

#: The line of its status in the server's lock file.
_STATUS_LINE = 7

#: For tests: a crash of the machine may lose all data.
THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class PostgresError(Exception):
    """The server could not be initialized or started; the message contains its output."""


class Postgres:
    """The embedded server of one data folder. Start it from the main thread (see ``bound``)."""

    def __init__(self, data: Path, *, log: Path, throwaway: bool = False) -> None:
        self.log = log
        self._places: Places = create_places(data)
        self._throwaway = throwaway
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def url(self) -> str:
        """A libpq URL; other users cannot access the socket's folder, so there is no password."""
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(self._places.socket), safe='/')}"

    def start(self) -> None:
        """Initialize the data folder if needed, start the server and wait until it is ready.

        Raises :class:`PostgresError` with the end of the server's log.
        """
        if not self._places.cluster.exists():
            self._initialize()
        started = time.monotonic()
        deadline = started + START_SECONDS
        while True:
            self.launch()
            if self._wait_until_ready(deadline):
                break
            if time.monotonic() > started + PREDECESSOR_SECONDS:
                self._end_predecessor()
            if time.monotonic() > deadline:
                self.stop()
                raise PostgresError(f"PostgreSQL did not start; {self.log} ends:\n{self._tail()}")
            time.sleep(0.2)
        self._create_database()

    def launch(self) -> None:
        """Start the server process without waiting for it."""
        settings = SETTINGS | (THROWAWAY if self._throwaway else {})
        options = [word for name in settings for word in ("-c", f"{name}={settings[name]}")]
        self._free_lock()
        data, socket = os.fspath(self._places.cluster), os.fspath(self._places.socket)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._as_account("postgres", "-D", data, "-k", socket, *options),
                cwd="/",
                env=_clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _free_lock(self) -> None:
        """Make a stale lock of a dead server harmless: its process id may be in use again.

        We hold the data folder, so only an earlier server of ours can have written the lock. The
        rest of the file stays: it names the shared memory that the new server must find unused.
        """
        with contextlib.suppress(OSError, ValueError):  # no lock, no process, or no /proc
            if not self._is_predecessor(self._lock_owner()):
                _, _, rest = self._lock.read_text(encoding="utf-8").partition("\n")
                # the server ignores the id of its parent
                self._lock.write_text(f"{os.getpid()}\n{rest}", encoding="utf-8")

    def _end_predecessor(self) -> None:
        """Stop the server that holds the data folder, also if it is stopped by a signal.

        What it had not written to its tables is read from its write-ahead log by the next one.
        """
        with contextlib.suppress(OSError, ValueError):  # it has ended meanwhile
            pid = self._lock_owner()
            if self._is_predecessor(pid):
                os.kill(pid, signal.SIGQUIT)
                os.kill(pid, signal.SIGCONT)

    @property
    def _lock(self) -> Path:
        return self._places.cluster / "postmaster.pid"

    def _lock_owner(self) -> int:
        return int(self._lock.read_text(encoding="utf-8").partition("\n")[0])

    def _is_predecessor(self, pid: int) -> bool:
        """Whether the process is a server of this data folder; OSError if it does not exist."""
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return os.fsencode(self._places.cluster) in command.split(b"\0")

    def poll(self) -> int | None:
        """The exit code; None while the server runs."""
        return self._process.poll() if self._process else 0

    def end_slow_shutdown(self) -> bool:
        """Stop a server at once that waits for its clients to leave; whether it did.

        SIGTERM means such a shutdown: those who are connected keep the server, and nobody else can
        connect.
        """
        if self.poll() is not None or self._status() != "stopping":
            return False
        self.stop()
        return True

    def _status(self) -> str:
        """What the server says about itself: "starting", "ready" or "stopping"."""
        try:
            return self._lock.read_text(encoding="utf-8").split("\n")[_STATUS_LINE].strip()
        except (OSError, IndexError):  # it is just starting, or has ended
            return ""

    def stop(self) -> None:
        """Disconnect all clients, write a checkpoint and stop. Does nothing if not running."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)
            process.wait()

    def _initialize(self) -> None:
        """Run initdb in a temporary folder, so that the data folder is created atomically."""
        cluster = self._places.cluster
        scratch = cluster.with_name("data.new")
        shutil.rmtree(scratch, ignore_errors=True)
        command = self._as_account(
            *("initdb", "--pgdata", os.fspath(scratch), "--username", ROLE),
            *("--auth-local", "trust", "--auth-host", "reject", "--encoding", "UTF8"),
            # Sort by code point on every system, as Kubernetes sorts names.
            *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
            "--no-instructions",
            *(["--no-sync"] if self._throwaway else []),
        )
        result = subprocess.run(
            command, cwd="/", env=_clean_environment(), check=False, capture_output=True, text=True
        )
        if result.returncode != 0:
            raise PostgresError(f"initdb failed:\n{result.stdout}{result.stderr}")
        scratch.rename(cluster)

    def _as_account(self, program: str, *arguments: str) -> list[str]:
        account = self._places.account
        uid, gid = (account.uid, account.gid) if account.switch else (-1, -1)
        return [
            *(sys.executable, "-I", "-S", os.fspath(bound.__file__)),
            *(str(os.getpid()), str(int(signal.SIGINT)), str(uid), str(gid)),
            *(os.fspath(self._places.programs / program), *arguments),
        ]

    def _wait_until_ready(self, deadline: float) -> bool:
        while time.monotonic() < deadline and self.poll() is None:
            with contextlib.suppress(psycopg.OperationalError), self._connect():
                return True
            time.sleep(0.02)
        return False

    def _create_database(self) -> None:
        with self._connect() as connection:
            known = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
            ).fetchone()
            if known is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=os.fspath(self._places.socket),
            user=ROLE,
            dbname="postgres",
            autocommit=True,
            connect_timeout=5,
        )

    def _tail(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-15:])


def _clean_environment() -> dict[str, str]:
    """Without settings of other PostgreSQL servers, and the secrets of the site."""
    foreign = ("PG", "SCHEDWEB_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
