"""A site of real processes, for tests that start one."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tests import migrated

ROOT = Path(__file__).parents[2]


def wait_until(met: Callable[[], bool], *, seconds: float = 30) -> None:
    """Return when *met* holds; fail the test on timeout."""
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


class RunningSite:
    """``make up`` on the data folder *data*, on free ports.

    The site of a new folder starts with a database that is migrated but has no users and no
    clusters; with *empty*, with none.
    """

    def __init__(self, data: Path, *, empty: bool = False, **variables: str) -> None:
        # without bytecode each process would compile all modules
        foreign = ("SCHEDWEB_", "DJANGO_", "PYTHONDONTWRITEBYTECODE")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        self.data = data
        self._empty = empty or "SCHEDWEB_DATABASE_URL" in variables
        self.environment = kept | {
            "SCHEDWEB_DATA": str(data),
            "SCHEDWEB_PORT": "0",
            "SCHEDWEB_TLS_PORT": "0",
            "SCHEDWEB_WEB_PROCESSES": "1",
            **variables,
        }
        self._process: subprocess.Popen[str] | None = None
        self._said: IO[str] | None = None

    @property
    def output(self) -> str:
        """The output of the supervisor since its start."""
        if self._said is None:
            return ""
        self._said.seek(0)
        return self._said.read()

    @property
    def database_url(self) -> str:
        given = self.environment.get("SCHEDWEB_DATABASE_URL")
        return given or (self.data / "run" / "database").read_text().strip()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> str:
        """Start and wait until the site is ready; returns its output until then."""
        if self._said is not None:
            self._said.close()
        if not self._empty:
            migrated.copy_to(self.data)
        # a file, because nothing reads a pipe while the site runs
        self._said = tempfile.TemporaryFile("a+")  # noqa: SIM115
        self._process = self.spawn(self._said)
        while "ready after" not in self.output:
            if self._process.poll() is not None or "not everything works" in self.output:
                raise AssertionError(f"the site did not start:\n{self.output}{self._logs()}")
            time.sleep(0.05)
        return self.output

    def spawn(self, output: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "schedweb.supervisor"],
            cwd=ROOT,
            env=self.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, number: int) -> int:
        """Signal the supervisor and wait for it; returns its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(timeout=60)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGKILL)
        if self._said is not None:
            self._said.close()
            self._said = None

    def processes(self) -> dict[int, str]:
        """The command lines of the supervisor's living descendants, by process id."""
        found: dict[int, str] = {}
        queue = [self.pid]
        while queue:
            parent = queue.pop()
            children = children_of(parent)
            queue += children
            found |= {child: command_line(child) for child in children}
        return found

    def process(self, pattern: str) -> int:
        """The one process whose command line matches."""
        found = [pid for pid, line in self.processes().items() if re.search(pattern, line)]
        assert len(found) == 1, self.processes()
        return found[0]

    def port(self, scheme: str = "http") -> int:
        found = re.search(rf"{scheme}://localhost:(\d+)", self.output)
        assert found is not None
        return int(found[1])

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of a page; (0, "") without a response."""
        web = http.client.HTTPConnection("localhost", self.port(), timeout=30)
        try:
            web.request("GET", path)
            response = web.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""
        finally:
            web.close()

    def post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> int:
        """Send a JSON body; returns the status of the response."""
        return self.send("POST", path, body, headers)[0]

    def send(
        self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]
    ) -> tuple[int, Any]:
        """Send a request over a connection of its own; returns status and JSON of the response."""
        web = http.client.HTTPConnection("localhost", self.port(), timeout=30)
        try:
            headers = {"Content-Type": "application/json", **headers}
            web.request(method, path, None if body is None else json.dumps(body), headers)
            response = web.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            web.close()

    def manage(self, *arguments: str) -> str:
        """The output of ``manage.py``, run as in another terminal."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def _logs(self) -> str:
        logs = sorted((self.data / "log").glob("*.log"))
        return "".join(f"\n== {log.name}\n{log.read_text()[-2000:]}" for log in logs)


def children_of(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it has just ended
        return []


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
