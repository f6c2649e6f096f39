"""What the processes of a site under test are told of the machine; needs a C compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")


class Clock:
    """How far the clocks are off, and whether names are found: a file that all processes map."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._library = folder / "clock.so"
        self._state = (0, 0)

    def build(self) -> bool:
        """Whether this machine can: compile the library that the processes load."""
        compiler = shutil.which("cc")
        if compiler is None or sys.platform != "linux":
            return False
        command = [compiler, "-shared", "-fPIC", "-O2", "-o", os.fspath(self._library)]
        subprocess.run([*command, os.fspath(SOURCE), "-ldl"], check=True)
        self.set(0)
        return True

    def variables(self) -> dict[str, str]:
        """For the environment of the site."""
        return {"LD_PRELOAD": os.fspath(self._library), "SOAK_CLOCK": os.fspath(self._file)}

    def set(self, seconds: int) -> None:
        """Let all clocks be off by so many seconds from now on."""
        self._write(seconds, self._state[1])

    def lose_names(self, lost: bool) -> None:
        """Whether no name server answers from now on."""
        self._write(self._state[0], int(lost))

    def _write(self, *state: int) -> None:
        self._state = state[0], state[1]
        mode = "r+b" if self._file.exists() else "wb"
        with self._file.open(mode) as file:
            file.write(b"".join(each.to_bytes(8, sys.byteorder, signed=True) for each in state))
        self._file.chmod(0o644)
