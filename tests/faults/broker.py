"""A Valkey or Redis server for the soak: the one that is installed, on a port of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

NAMES = ("valkey-server", "redis-server")


def program() -> str | None:
    """The server that is installed here; None when there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Broker:
    """A server that is started again whenever it ends, with what it had written down."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="broker", daemon=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and return when it answers."""
        self._keeper.start()
        while not self._answers():
            time.sleep(0.05)

    def stop(self) -> None:
        self._ending.set()
        if self._process is not None:
            self._process.kill()
        self._keeper.join()

    def processes(self) -> dict[int, str]:
        """As `House.processes`."""
        process = self._process
        return {} if process is None else {process.pid: f"{Path(self._program).name} "}

    def _keep(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        options += ["--appendonly", "yes", "--daemonize", "no", "--save", ""]
        while not self._ending.is_set():
            with (self._folder / "broker.log").open("ab") as log:
                self._process = subprocess.Popen(
                    [self._program, *options], stdout=log, stderr=log, start_new_session=True
                )
            self._process.wait()
            self._ending.wait(0.5)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def free_port() -> int:
    """A port that nobody uses just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
