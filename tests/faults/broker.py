"""A Valkey or Redis server for the soak test, on a free port; the program must be installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

NAMES = ("valkey-server", "redis-server")


def find_program() -> str | None:
    """The path of the installed server; None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Broker:
    """A server that is restarted whenever it ends, with the data that it saved."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self.port = find_free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()
        self._keeper = threading.Thread(target=self._restart_forever, name="broker", daemon=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        self._keeper.start()
        while not self._accepts_connections():
            time.sleep(0.05)

    def stop(self) -> None:
        self._ending.set()
        if self._process is not None:
            self._process.kill()
        self._keeper.join()

    def processes(self) -> dict[int, str]:
        """Like `RunningSite.processes`."""
        process = self._process
        return {} if process is None else {process.pid: f"{Path(self._program).name} "}

    def _restart_forever(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        options += ["--appendonly", "yes", "--daemonize", "no", "--save", ""]
        while not self._ending.is_set():
            with (self._folder / "broker.log").open("ab") as log:
                self._process = subprocess.Popen(
                    [self._program, *options], stdout=log, stderr=log, start_new_session=True
                )
            self._process.wait()
            self._ending.wait(0.5)

    def _accepts_connections(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def find_free_port() -> int:
    """A port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
