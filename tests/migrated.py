"""A migrated database, kept for a day, and copied for every site and test process.

To migrate an empty database takes 5 s of processor time, to copy the result well below one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from schedweb.embedded.places import create_places
from schedweb.embedded.postgres import DATABASE, Postgres

ROOT = Path(__file__).parents[1]
#: The copied database, where it is the template of other databases of its server.
TEMPLATE = "migrated"
#: What the contents depend on: migrations, what they import, the server and its options.
SOURCES = (
    "apps/*/migrations/*.py",
    "apps/cluster/partitions/division.py",
    "requirements.lock",
    "schedweb/embedded/postgres.py",
)


def copy_to(data: Path, root: Path = ROOT) -> None:
    """Put the migrated database of the checkout *root* into the data folder *data*.

    It has no users and no clusters. A data folder that has a database keeps it.
    """
    if (data / "postgres").exists():
        return
    target, folder = create_places(data).cluster, root / "var" / "migrated"
    folder.mkdir(parents=True, exist_ok=True)
    # other processes wait for the one that migrates
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # a migration creates the partitions of its day and the next ones
        kept = folder / f"{datetime.now(UTC):%y%m%d}-{digest(root)}"
        if not kept.exists():
            for old in filter(Path.is_dir, folder.iterdir()):
                shutil.rmtree(old)
            _migrate(kept)
        _copy(kept, target)


def digest(root: Path) -> str:
    """A text that a change of SOURCES changes."""
    hashed = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in root.glob(pattern)):
        content = path.read_bytes()
        hashed.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    return hashed.hexdigest()[:16]


def keep_as_template(url: str) -> None:
    """Rename the copied database of the server at *url*, and create an empty one in its place."""
    other = url.replace(f"/{DATABASE}?", "/postgres?")
    with psycopg.connect(other, autocommit=True) as server:
        server.execute(f'ALTER DATABASE "{DATABASE}" RENAME TO "{TEMPLATE}"'.encode())
        server.execute(f'CREATE DATABASE "{DATABASE}"'.encode())


def _copy(source: Path, target: Path) -> None:
    # with the owner, who is another user under root
    subprocess.run(["cp", "-a", os.fspath(source), os.fspath(target)], check=True)


def _migrate(kept: Path) -> None:
    """Migrate a new database, and keep the data folder of its stopped server."""
    folder = Path(tempfile.mkdtemp(prefix="schedweb-migrated-"))
    folder.chmod(0o755)
    server = Postgres(folder, log=folder / "postgres.log", throwaway=True)
    server.start()
    others = {name: text for name, text in os.environ.items() if not name.startswith("SCHEDWEB_")}
    own = {
        "DJANGO_SETTINGS_MODULE": "schedweb.settings",
        "SCHEDWEB_DATA": os.fspath(folder),
        "SCHEDWEB_DATABASE_URL": server.url,
    }
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--skip-checks"]
    try:
        subprocess.run(command, cwd=ROOT, env=others | own, check=True)
    finally:
        server.stop()
    # complete, or not there
    unfinished = kept.with_suffix(".new")
    _copy(create_places(folder).cluster, unfinished)
    unfinished.rename(kept)
    for each in ((folder / "postgres").resolve(), folder):
        shutil.rmtree(each, ignore_errors=True)
