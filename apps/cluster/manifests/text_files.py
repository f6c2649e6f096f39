"""The texts in files that people have of clusters: YAML, JSON, gzip, and archives of tar and zip.

Nothing is written to a disk. Whatever an archive says of itself is compared with a limit before it
is read: the number of its members, their sizes, and their names, which errors show.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, Final, NamedTuple

from apps.cluster import limits
from apps.cluster.errors import BadRequest

#: Of archives and folders, the files with these names are read: those with logs, for example, are
#: not.
_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_ENTRY: Final = b"PK\x01\x02"
#: Where a tar archive says that it is one.
_TAR: Final = slice(257, 262)
_ENCRYPTED: Final = 0x1
_BLOCK: Final = 64 * 1024


class File(NamedTuple):
    """A file of any of these kinds; the name of the only one may be empty."""

    name: str
    content: bytes


class Text(NamedTuple):
    """The text of a file or of a member of an archive."""

    name: str
    text: str


def is_read(name: str) -> bool:
    """Whether a file of a folder or an archive is read, by its path in it."""
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    return name.lower().endswith(_SUFFIXES) and not hidden


def read_files(files: Iterable[File]) -> list[Text]:
    """The texts of all files, in order; those of an archive by their names in it.

    BadRequest names the file that is no text, or an archive that is damaged, too large, or has
    members that no archive of a dump has.
    """
    room = _SizeLimit()
    texts = [text for file in files for text in _read(file, room)]
    names: set[str] = set()
    for text in texts:
        if text.name in names:
            raise BadRequest(f"{_shown(text.name)}: there are two files with this name")
        names.add(text.name)
    return texts


@dataclass(slots=True)
class _SizeLimit:
    """What may still be read of all files together."""

    files: int = field(default_factory=lambda: limits.IMPORT_FILES.highest)
    texts: int = field(default_factory=lambda: limits.BODY_BYTES.highest)
    #: with the members that are not read, which have to be decompressed
    unpacked: int = field(default_factory=lambda: limits.IMPORT_UNPACKED.highest)

    def take_file(self, name: str, size: int) -> None:
        """A member of an archive, before it is read."""
        self.files -= 1
        if self.files < 0:
            raise BadRequest(f"{_shown(name)}: more than {limits.IMPORT_FILES.highest:,} files")
        if is_read(name):
            self.take_text(name, size)

    def take_text(self, name: str, size: int) -> None:
        self.texts -= size
        if self.texts < 0:
            most = limits.BODY_BYTES.highest
            raise BadRequest(f"{_shown(name)}: the texts have more than {most:,} bytes")

    def take_unpacked(self, name: str, size: int) -> None:
        self.unpacked -= size
        if self.unpacked < 0:
            most = limits.IMPORT_UNPACKED.highest
            raise BadRequest(f"{_shown(name)}: it has more than {most:,} bytes unpacked")


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, as far as there is room for it."""

    def __init__(self, file: File, room: _SizeLimit) -> None:
        super().__init__()
        self._file = gzip.GzipFile(fileobj=io.BytesIO(file.content))
        self._name, self._room = file.name, room

    def read(self, size: int = -1, /) -> bytes:
        """At most a block, or all of it, block by block."""
        if size < 0:
            return b"".join(iter(lambda: self.read(_BLOCK), b""))
        unpacked = self._file.read(size)
        self._room.take_unpacked(self._name, len(unpacked))
        return unpacked


def _read(file: File, room: _SizeLimit) -> Iterator[Text]:
    name, content = file
    try:
        if content.startswith(_ZIP):
            yield from _read_zip(file, room)
        elif content[_TAR] == b"ustar":
            yield from _read_tar(io.BytesIO(content), name, room)
        elif content.startswith(_GZIP):
            yield from _read_gzip(file, room)
        else:
            room.take_text(name, len(content))
            yield _decode(name, content)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise BadRequest(f"{_prefix(name)}the archive is damaged: {error}") from error
    except (NotImplementedError, RuntimeError) as error:
        raise BadRequest(f"{_prefix(name)}the archive cannot be read: {error}") from error


def _read_gzip(file: File, room: _SizeLimit) -> Iterator[Text]:
    start = gzip.GzipFile(fileobj=io.BytesIO(file.content)).read(_TAR.stop)
    unpacked = _Unpacked(file, room)
    if start[_TAR] == b"ustar":
        yield from _read_tar(unpacked, file.name, room)
        return
    content = unpacked.read()
    room.take_text(file.name, len(content))
    yield _decode(file.name, content)


def _read_tar(content: IO[bytes] | io.RawIOBase, name: str, room: _SizeLimit) -> Iterator[Text]:
    with tarfile.open(fileobj=content, mode="r|") as archive:
        for member in archive:
            _check_name(name, member.name)
            if member.isdir():
                room.take_file(name, 0)
                continue
            if not member.isfile() or member.issparse():
                raise BadRequest(f"{_prefix(name)}{_shown(member.name)} is not a plain file")
            room.take_file(member.name, member.size)
            if is_read(member.name):
                extracted = archive.extractfile(member)
                assert extracted is not None
                yield _decode(member.name.removeprefix("./"), extracted.read())


def _read_zip(file: File, room: _SizeLimit) -> Iterator[Text]:
    name, content = file
    # the list of members is read as a whole
    if not limits.IMPORT_FILES.admits(content.count(_ZIP_ENTRY)):
        raise BadRequest(f"{_prefix(name)}more than {limits.IMPORT_FILES.highest:,} files")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            _check_name(name, member.filename)
            if member.is_dir():
                room.take_file(name, 0)
                continue
            mode = member.external_attr >> 16
            if mode and (mode & 0o170000) not in (0, 0o100000):
                raise BadRequest(f"{_prefix(name)}{_shown(member.filename)} is not a plain file")
            if member.flag_bits & _ENCRYPTED:
                raise BadRequest(f"{_prefix(name)}{_shown(member.filename)} is encrypted")
            room.take_file(member.filename, member.file_size)
            if is_read(member.filename):
                # ends at the size that was compared, whatever is in the file
                yield _decode(member.filename, archive.read(member))


def _check_name(archive: str, name: str) -> None:
    """Raise BadRequest for a name that leads out of the archive, or that nobody can read."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
        raise BadRequest(f"{_prefix(archive)}{_shown(name)} is not a name in an archive")


def _decode(name: str, content: bytes) -> Text:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequest(f"{_prefix(name)}this is not UTF-8: {error}") from error
    if "\0" in text:
        raise BadRequest(f"{_prefix(name)}this is not text: it contains NUL characters")
    return Text(name, text)


def _prefix(name: str) -> str:
    return f"{_shown(name)}: " if name else ""


def _shown(name: str) -> str:
    """A name in a message: short, and without what a terminal would act on."""
    short = name if len(name) <= 100 else f"{name[:100]}…"
    return short if short.isprintable() else ascii(short)
