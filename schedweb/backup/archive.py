"""The file of a backup: a zip of compressed tables, with a manifest of their checksums.

Members are `tables/NAME` (the output of COPY in text format, zstandard-compressed), `files/PATH`
(files of the data folder) and `manifest.json`. The comment of the zip is the SHA-256 of the
manifest. Checksums find damage; they do not protect against somebody who rewrites the file. So a
file is checked as if a stranger had written it: its members are plain files with the names that a
backup has, and as large as the file says.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

import msgspec
import zstandard

from apps.cluster import limits

#: Version of the format; a file with a higher one is refused.
FORMAT = 1
MANIFEST = "manifest.json"
#: Files of the data folder that a restored site needs, so that sessions and kubeconfigs stay valid.
FILES = ("secret-key", "tls/*")
#: At most this much of a member is in memory at a time.
_CHUNK = 1 << 20
#: The rows of a table are at most so much larger than the compressed ones, and this.
_RATIO = 1000
_FREE_BYTES = 64 << 20
#: Flag of a member of a zip.
_ENCRYPTED = 1


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
        _check_names(archive)
        self.manifest = self._read_manifest()
        self._check_members()

    def read_table(self, name: str) -> Iterator[bytes]:
        """The output of COPY, in blocks; BackupError for more than such a file can hold."""
        room = _FREE_BYTES + _RATIO * self._archive.getinfo(f"tables/{name}").file_size
        with self._archive.open(f"tables/{name}") as file:
            for block in zstandard.ZstdDecompressor().read_to_iter(file, read_size=_CHUNK):
                room -= len(block)
                if room < 0:
                    raise BackupError(f"the rows of {name} are too large for their compressed size")
                yield block

    def files(self) -> dict[Path, str]:
        """The files of the data folder, by their paths in it; BackupError for one without text."""
        names = [name for name in self.manifest.checksums if name.startswith("files/")]
        try:
            return {
                Path(name).relative_to("files"): self._archive.read(name).decode() for name in names
            }
        except UnicodeDecodeError as error:
            raise BackupError(f"a file of the data folder is not text: {error}") from error

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
        tables = {name for name in present if name.startswith("tables/")}
        if present != set(listed) or tables != expected:
            raise BackupError("the backup was altered: its members differ from its manifest")
        for name, checksum in listed.items():
            with self._archive.open(name) as file:
                if _digest(file) != checksum:
                    raise BackupError(f"the backup was altered: the checksum of {name} is wrong")


def _check_names(archive: zipfile.ZipFile) -> None:
    """Raise BackupError unless each member is one that `Writer` writes, before any is read."""
    members = archive.infolist()
    if len(members) != len(set(archive.namelist())):
        raise BackupError("the backup has two members with the same name")
    for member in members:
        if fault := _find_fault(member):
            raise BackupError(f"{member.filename[:100]!r} {fault}")
    # stored members are parts of the file, unless they overlap
    if sum(member.file_size for member in members) > _size_of(archive):
        raise BackupError("the members of the backup are larger than its file")


def _find_fault(member: zipfile.ZipInfo) -> str:
    """Why no backup has this member; "" if one can have it."""
    if member.filename != MANIFEST and not _is_named_well(member.filename):
        return "does not belong into a backup"
    # no links, devices or folders; archives of other systems have no mode
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is not a plain file"
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & _ENCRYPTED:
        return "is compressed or encrypted by the zip"
    limit = _limit_of(member.filename)
    if limit is not None and not limit.admits(member.file_size):
        return f"has more than {limit.highest:,} bytes"
    return ""


def _is_named_well(name: str) -> bool:
    """Whether it is a table, or a file of the data folder that is saved."""
    folder, *parts = name.split("/")
    if "" in parts or not {".", ".."}.isdisjoint(parts) or "\\" in name:
        return False
    if folder == "tables":
        return len(parts) == 1
    patterns = [pattern.split("/") for pattern in FILES] if folder == "files" else []
    return any(
        len(parts) == len(pattern) and all(map(fnmatchcase, parts, pattern)) for pattern in patterns
    )


def _limit_of(name: str) -> limits.Limit | None:
    if name == MANIFEST:
        return limits.ARCHIVE_MANIFEST
    return limits.ARCHIVE_FILE if name.startswith("files/") else None


def _size_of(archive: zipfile.ZipFile) -> int:
    assert archive.fp is not None
    return archive.fp.seek(0, os.SEEK_END)


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
