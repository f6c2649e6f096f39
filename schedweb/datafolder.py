"""The data folder: its lock and its small files."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import cast

from django.utils.functional import SimpleLazyObject

from schedweb.config import DATABASE_POINTER

#: The keys of the site, if no setting has them.
SECRET_KEY = "secret-key"
#: The certificate that clients of the https port must trust (:mod:`schedweb.tls`).
TLS_AUTHORITY = Path("tls") / "ca.crt"


class DataFolderBusy(Exception):
    """Another process uses this data folder; the message names it."""


class DataFolderUnusable(Exception):
    """The data folder cannot be written: a read-only or full disk, or missing permissions."""


class DataFolder:
    """A context manager that locks the data folder for this process.

    The kernel releases the lock when the process ends. Raises
    :class:`DataFolderBusy` or :class:`DataFolderUnusable` on entry.
    """

    def __init__(self, path: Path, *, purpose: str) -> None:
        self.path = path
        self._purpose = purpose
        self._lock = -1

    def __enter__(self) -> DataFolder:
        try:
            # Searchable by others: if we run as root, the database's user needs access.
            for folder in (self.path, self.path / "run"):
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            (self.path / "log").mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(self.path / "run" / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise DataFolderUnusable(
                f"the data folder {self.path} cannot be written: {error.strerror}"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 4096, 0).decode() or "another process"
            os.close(self._lock)
            raise DataFolderBusy(f"{self.path} is in use by {holder}") from None
        self.describe(f"{self._purpose} (process {os.getpid()})")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        (self.path / DATABASE_POINTER).unlink(missing_ok=True)
        os.ftruncate(self._lock, 0)
        os.close(self._lock)

    def describe(self, holder: str) -> None:
        """Write into the lock file which process holds the lock."""
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, holder.encode(), 0)

    def announce_database(self, url: str) -> None:
        """Let ``manage.py`` in other terminals find the database."""
        write_private(self.path / DATABASE_POINTER, url)


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 atomically."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    scratch.replace(path)


def secret_key(path: Path) -> str:
    """The keys in the data folder, one in a line, the newest first; created on first use."""
    file = path / SECRET_KEY
    if not file.exists():
        write_private(file, secrets.token_urlsafe(48))
    return file.read_text(encoding="utf-8")


def lazy_secret_keys(path: Path) -> list[str]:
    """As `secret_key`; if there is none yet, one that is created once it is needed.

    A command that needs no site leaves nothing behind.
    """
    if (path / SECRET_KEY).exists():
        return secret_key(path).splitlines()
    return [cast(str, SimpleLazyObject(lambda: secret_key(path)))]


def rotate_secret_key(path: Path) -> None:
    """Put a new key before the newest one, and drop the others."""
    newest = secret_key(path).splitlines()[0]
    write_private(path / SECRET_KEY, f"{secrets.token_urlsafe(48)}\n{newest}")
