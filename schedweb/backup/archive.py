"""The file of a backup: a zip of compressed tables, with a manifest of their checksums.

Members are `tables/NAME` (the output of COPY in text format, zstandard-compressed), `files/PATH`
(files of the data folder) and `manifest.json`. The comment of the zip is the SHA-256 of the
manifest. Checksums find damage; they do not protect against somebody who rewrites the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
import zstandard

#: Version of the format; a file with a higher one is refused.
FORMAT = 1
MANIFEST = "manifest.json"
#: At most this much of a member is in memory at a time.
_CHUNK = 1 << 20


class BackupError(Exception):
    """The file is no intact backup that this version can restore; the message says why."""


class Table(msgspec.Struct):
    """One table in a backup: the order of its columns, the number of rows."""

    columns: list[str]
    rows: int = 0


class Manifest(msgspec.Struct):
    """What a backup contains, and the version that wrote it."""

    version: str
    created_at: str
    #: Name of the cluster; None for a whole site.
    cluster: str | None
    cluster_id: int | None
    #: applied migrations as [app, name]
    migrations: list[tuple[str, str]]
    #: partitioned table -> days with a partition, as YYMMDD
    days: dict[str, list[str]]
    #: sequence -> last value
    sequences: dict[str, int]
    tables: dict[str, Table]
    #: member -> SHA-256
    checksums: dict[str, str] = {}
    format: int = FORMAT


class Writer:
    """Writes the members of one backup."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._checksums: dict[str, str] = {}

    def add_table(self, name: str, blocks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Add the output of COPY."""
        member = f"tables/{name}"
        digest = hashlib.sha256()
        with self._archive.open(member, "w", force_zip64=True) as file:
            compressor = zstandard.ZstdCompressor(level=3).compressobj()
            for block in blocks:
                if data := compressor.compress(block):
                    digest.update(data)
                    file.write(data)
            data = compressor.flush()
            digest.update(data)
            file.write(data)
        self._checksums[member] = digest.hexdigest()

    def add_file(self, path: Path, content: bytes) -> None:
        """Add a file of the data folder, by its path in it."""
        member = f"files/{path.as_posix()}"
        self._archive.writestr(member, content)
        self._checksums[member] = hashlib.sha256(content).hexdigest()

    def finish(self, manifest: Manifest) -> None:
        """Add the manifest, with the checksums of all members."""
        manifest.checksums = self._checksums
        text = json.dumps(msgspec.to_builtins(manifest), indent=1).encode()
        self._archive.writestr(MANIFEST, text)
        self._archive.comment = hashlib.sha256(text).hexdigest().encode()


@contextmanager
def create(path: Path) -> Iterator[Writer]:
    """Write a backup to *path*, readable by its owner only.

    The file appears when it is complete and on disk; after an error there is none.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                yield Writer(archive)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


class Reader:
    """An intact backup: every checksum has been compared."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.manifest = self._read_manifest()
        self._check_members()

    def read_table(self, name: str) -> Iterator[bytes]:
        """The output of COPY, in blocks."""
        with self._archive.open(f"tables/{name}") as file:
            yield from zstandard.ZstdDecompressor().read_to_iter(file, read_size=_CHUNK)

    def files(self) -> dict[Path, bytes]:
        """The files of the data folder, by their paths in it."""
        names = [name for name in self.manifest.checksums if name.startswith("files/")]
        return {Path(name).relative_to("files"): self._archive.read(name) for name in names}

    def _read_manifest(self) -> Manifest:
        try:
            text = self._archive.read(MANIFEST)
            content: dict[str, Any] = json.loads(text)
            written = int(content["format"])
        except (KeyError, TypeError, ValueError) as error:
            raise BackupError("the file is not a backup of schedweb: it has no manifest") from error
        if hashlib.sha256(text).hexdigest().encode() != self._archive.comment:
            raise BackupError("the backup was altered: the checksum of its manifest is wrong")
        if written > FORMAT:
            raise BackupError(
                f"a newer version of schedweb ({content.get('version')}) wrote this backup: its "
                f"format is {written}, and this version reads formats up to {FORMAT}"
            )
        try:
            return msgspec.convert(content, Manifest)
        except msgspec.ValidationError as error:
            raise BackupError(f"the manifest of the backup is invalid: {error}") from error

    def _check_members(self) -> None:
        listed = self.manifest.checksums
        expected = {f"tables/{name}" for name in self.manifest.tables}
        present = set(self._archive.namelist()) - {MANIFEST}
        if present != set(listed) or not expected <= present:
            raise BackupError("the backup was altered: its members differ from its manifest")
        for name, checksum in listed.items():
            with self._archive.open(name) as file:
                if _digest(file) != checksum:
                    raise BackupError(f"the backup was altered: the checksum of {name} is wrong")


@contextmanager
def open_backup(path: Path) -> Iterator[Reader]:
    """Check a backup completely, then read it. Raises BackupError."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield Reader(archive)
    except FileNotFoundError as error:
        raise BackupError(f"there is no file {path}") from error
    except (zipfile.BadZipFile, zstandard.ZstdError, EOFError) as error:
        raise BackupError(f"the file is not an intact backup: {error}") from error


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := file.read(_CHUNK):
        digest.update(block)
    return digest.hexdigest()
