"""A small filesystem for the data of a site under test, which can be filled; needs root."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

MEGABYTE = 2**20


class SmallDisk:
    """A filesystem in memory at *folder*."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self._size = megabytes * MEGABYTE

    def mount(self) -> bool:
        """Whether this machine allows it."""
        self.folder.mkdir(exist_ok=True)
        options = f"size={self._size},mode=0755"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", os.fspath(self.folder)]
        return os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", os.fspath(self.folder)], check=True)

    def fill(self, remaining: int) -> None:
        """Leave so many MiB: the filesystem shrinks, because to write gigabytes takes too long."""
        for _ in range(50):
            found = os.statvfs(self.folder)
            used = (found.f_blocks - found.f_bfree) * found.f_frsize
            # fails if the site has written since
            if self._remount(f"size={used + remaining * MEGABYTE}"):
                return
            time.sleep(0.1)
        raise AssertionError("the disk could not be filled")

    def empty(self) -> None:
        assert self._remount(f"size={self._size}")

    def set_read_only(self, read_only: bool) -> None:
        """Only while no process of the site runs."""
        deadline = time.monotonic() + 60
        # the last processes of a site that was killed hold their files for a moment
        while not self._remount("ro" if read_only else "rw"):
            assert time.monotonic() < deadline, "the disk is in use"
            time.sleep(0.2)

    def _remount(self, option: str) -> bool:
        command = ["mount", "-o", f"remount,{option}", os.fspath(self.folder)]
        return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0
