"""A PostgreSQL beside the site, for the soak test: a site uses it by its URL, as one of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg

from tests.stack.running_site import ROOT, children_of, command_line


class Database:
    """A server that is restarted whenever it ends, with what it has written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()
        self._keeper = threading.Thread(target=self._restart_forever, name="database", daemon=True)

    @property
    def url(self) -> str:
        return (self._folder / "run" / "database").read_text().strip()

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        self._keeper.start()
        deadline = time.monotonic() + 60
        while not self._accepts_connections():
            assert time.monotonic() < deadline, f"no database, see {self._folder / 'log'}"
            time.sleep(0.1)

    def stop(self) -> None:
        self._ending.set()
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
        self._keeper.join()

    def processes(self) -> dict[int, str]:
        """Like `RunningSite.processes`."""
        found: dict[int, str] = {}
        queue = [] if self._process is None else [self._process.pid]
        while queue:
            children = children_of(queue.pop())
            queue += children
            found |= {child: command_line(child) for child in children}
        return found

    def _restart_forever(self) -> None:
        environment = os.environ | {"SCHEDWEB_DATA": os.fspath(self._folder)}
        while not self._ending.is_set():
            with (self._folder / "database.log").open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "schedweb.embedded"],
                    cwd=ROOT,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self._process.wait()
            self._ending.wait(0.5)

    def _accepts_connections(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except (OSError, psycopg.OperationalError):
            return False
        return True
