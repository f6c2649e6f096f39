"""A small filesystem for the data of a site under test, which can be filled; needs root."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path

MEGABYTE = 2**20


class SmallDisk:
    """A filesystem in memory at *folder*."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"
        self._options = f"size={megabytes}m,mode=0755"

    def mount(self) -> bool:
        """Whether this machine allows it."""
        self.folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", self._options, "tmpfs", os.fspath(self.folder)]
        return os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", os.fspath(self.folder)], check=True)

    def fill(self, remaining: int) -> None:
        """Leave so many MiB."""
        with self._ballast.open("ab") as file:
            for _ in range(50):
                size = self._free() - remaining * MEGABYTE
                if size <= 0:
                    return
                # the site may have written since
                with contextlib.suppress(OSError):
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
                    return
                time.sleep(0.1)
        raise AssertionError("the disk could not be filled")

    def _free(self) -> int:
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def set_read_only(self, read_only: bool) -> None:
        """Only while no process of the site runs."""
        options = f"remount,{'ro' if read_only else 'rw'}"
        command = ["mount", "-o", options, os.fspath(self.folder)]
        deadline = time.monotonic() + 60
        # the last processes of a site that was killed hold their files for a moment
        while subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode:
            assert time.monotonic() < deadline, "the disk is in use"
            time.sleep(0.2)
