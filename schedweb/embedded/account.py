"""The user that runs the database: the invoking user, or an unprivileged one instead of root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

#: PostgreSQL refuses to run as root. Every system has this account.
UNPRIVILEGED = "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """A user to run programs as; ``switch`` is False if it is the current user."""

    name: str
    uid: int
    gid: int
    switch: bool

    def can(self, test: str, path: Path) -> bool:
        """Whether this user passes ``test(1)``'s *test* ("-x", "-r") on *path*.

        Runs as a process of that user, because modes, ACLs and mounts all matter.
        """
        program = shutil.which("test") or "/usr/bin/test"
        command = [program, test, os.fspath(path)]
        if not self.switch:
            return subprocess.run(command, check=False).returncode == 0
        return (
            subprocess.run(
                command, check=False, cwd="/", user=self.uid, group=self.gid, extra_groups=[]
            ).returncode
            == 0
        )

    def own(self, path: Path) -> None:
        """Change the owner of *path* to this user, unless it is the current user."""
        if self.switch:
            os.chown(path, self.uid, self.gid)


def database_account(existing: Path | None = None) -> Account:
    """The user for the database: the owner of an *existing* data folder, if possible."""
    entry = pwd.getpwuid(os.geteuid())
    if entry.pw_uid != 0:
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switch=False)
    entry = pwd.getpwnam(UNPRIVILEGED)
    if existing is not None and existing.exists() and existing.stat().st_uid != 0:
        entry = pwd.getpwuid(existing.stat().st_uid)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switch=True)
