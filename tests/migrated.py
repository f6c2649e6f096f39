"""A migrated database, created once per test run and copied for every site and test process.

To migrate an empty database takes 12 s of processor time, to copy the result well below one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from schedweb.embedded.places import create_places
from schedweb.embedded.postgres import DATABASE, Postgres

ROOT = Path(__file__).parents[1]
#: The folder that the processes of a test run share; without it, nothing is copied.
SHARED = "TESTS_MIGRATED"
#: The copied database, where it is the template of other databases of its server.
TEMPLATE = "migrated"


def share_folder() -> None:
    """Choose the folder, before other processes of the run are started."""
    folder = Path(tempfile.mkdtemp(prefix="schedweb-migrated-"))
    folder.chmod(0o755)
    os.environ[SHARED] = os.fspath(folder)


def delete_folder() -> None:
    """Delete the database with its folder; in the process that has chosen it."""
    folder = Path(os.environ.pop(SHARED))
    home = (folder / "postgres").resolve()
    for each in (home, folder):
        shutil.rmtree(each, ignore_errors=True)


def copy_to(data: Path) -> None:
    """Put the migrated database into the data folder *data*, as the site's own.

    It has no users and no clusters. A data folder that has a database keeps it.
    """
    shared = os.environ.get(SHARED)
    if shared is None or (data / "postgres").exists():
        return
    migrated, target = _create_once(Path(shared)), create_places(data).cluster
    # with the owner, who is another user under root
    subprocess.run(["cp", "-a", os.fspath(migrated), os.fspath(target)], check=True)


def keep_as_template(url: str) -> None:
    """Rename the copied database of the server at *url*, and create an empty one in its place."""
    other = url.replace(f"/{DATABASE}?", "/postgres?")
    with psycopg.connect(other, autocommit=True) as server:
        server.execute(f'ALTER DATABASE "{DATABASE}" RENAME TO "{TEMPLATE}"'.encode())
        server.execute(f'CREATE DATABASE "{DATABASE}"'.encode())


def _create_once(folder: Path) -> Path:
    """The data folder of a stopped server; other processes wait for the one that creates it."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.exists():
            _migrate(folder)
            done.touch()
    return create_places(folder).cluster


def _migrate(folder: Path) -> None:
    server = Postgres(folder, log=folder / "postgres.log", throwaway=True)
    server.start()
    kept = {name: text for name, text in os.environ.items() if not name.startswith("SCHEDWEB_")}
    own = {
        "DJANGO_SETTINGS_MODULE": "schedweb.settings",
        "SCHEDWEB_DATA": os.fspath(folder),
        "SCHEDWEB_DATABASE_URL": server.url,
    }
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--skip-checks"]
    try:
        subprocess.run(command, cwd=ROOT, env=kept | own, check=True)
    finally:
        server.stop()
