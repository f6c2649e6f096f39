"""A backup is read as if a stranger had written it: nothing leaves the folder, nothing explodes."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import zstandard

from apps.cluster import limits
from schedweb.backup import archive
from schedweb.backup.archive import BackupError, Manifest, Table, open_backup

Member = tuple[zipfile.ZipInfo | str, bytes]


def write(path: Path, members: Sequence[Member], *, compression: int = zipfile.ZIP_STORED) -> Path:
    """A file with the right checksums of these members."""
    names = [info if isinstance(info, str) else info.filename for info, _ in members]
    tables = [name.removeprefix("tables/") for name in names if name.startswith("tables/")]
    manifest = Manifest(
        version="1",
        created_at="2026-01-01T00:00:00+00:00",
        cluster=None,
        cluster_id=None,
        migrations=[],
        days={},
        sequences={},
        tables={name: Table(["id"]) for name in tables},
        checksums={
            name: hashlib.sha256(content).hexdigest()
            for name, (_, content) in zip(names, members, strict=True)
        },
    )
    text = json.dumps(msgspec.to_builtins(manifest)).encode()
    with zipfile.ZipFile(path, "w", compression) as file:
        for info, content in members:
            file.writestr(info, content)
        file.writestr("manifest.json", text)
        file.comment = hashlib.sha256(text).hexdigest().encode()
    return path


def member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_files_of_the_data_folder_are_read(tmp_path: Path) -> None:
    saved = write(tmp_path / "a", [("files/secret-key", b"k"), ("files/tls/ca.crt", b"c")])
    with open_backup(saved) as backup:
        assert backup.files() == {Path("secret-key"): "k", Path("tls/ca.crt"): "c"}


@pytest.mark.parametrize(
    "name",
    [
        "files/../../outside",
        "files/tls/../../outside",
        "files/tls/..",
        "files//etc/cron.d/outside",
        "files/tls//etc",
        "files/tls/a/b",
        "files/./secret-key",
        "files/tls/..\\outside",
        "files/run/lock",
        "files/",
        "/etc/outside",
        "../outside",
        "tables/../files/secret-key",
        "tables/a/b",
        "other",
    ],
)
def test_member_with_another_name_is_refused(tmp_path: Path, name: str) -> None:
    saved = write(tmp_path / "a", [(name, b"owned")])
    with pytest.raises(BackupError, match="does not belong into a backup"), open_backup(saved):
        pass


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK]
)
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    saved = write(tmp_path / "a", [(member("files/tls/ca.crt", kind | 0o777), b"/etc/passwd")])
    with pytest.raises(BackupError, match="'files/tls/ca.crt' is not a plain file"):
        open_backup(saved).__enter__()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_with_one_name_are_refused(tmp_path: Path) -> None:
    saved = write(tmp_path / "a", [("files/secret-key", b"a"), ("files/secret-key", b"b")])
    with pytest.raises(BackupError, match="two members with the same name"):
        open_backup(saved).__enter__()


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    bomb = [("files/secret-key", b"\0" * 500_000)]
    saved = write(tmp_path / "a", bomb, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(BackupError, match="is compressed or encrypted by the zip"):
        open_backup(saved).__enter__()


def test_large_file_of_the_data_folder_is_refused(tmp_path: Path) -> None:
    content = b"a" * (limits.ARCHIVE_FILE.highest + 1)
    saved = write(tmp_path / "a", [("files/secret-key", content)])
    with pytest.raises(BackupError, match="has more than 1,048,576 bytes"):
        open_backup(saved).__enter__()


def test_members_that_are_larger_than_the_file_are_refused(tmp_path: Path) -> None:
    saved = write(tmp_path / "a", [("tables/a", b"abc")])
    data = bytearray(saved.read_bytes())
    # both sizes in the central directory
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = (2**31).to_bytes(4, "little") * 2
    saved.write_bytes(data)
    with pytest.raises(BackupError, match="larger than its file"):
        open_backup(saved).__enter__()


def test_rows_that_explode_are_not_read_to_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_FREE_BYTES", 1 << 20)
    bomb = zstandard.compress(b"\0" * (64 << 20))
    saved = write(tmp_path / "a", [("tables/a", bomb)])
    with open_backup(saved) as backup:
        read = 0
        with pytest.raises(BackupError, match="the rows of a are too large"):
            for block in backup.read_table("a"):
                read += len(block)
        assert read < 10 << 20


def test_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    saved = write(tmp_path / "a", [("files/secret-key", b"\xff")])
    with open_backup(saved) as backup, pytest.raises(BackupError, match="is not text"):
        backup.files()
