"""Restores a whole site: the database, and the keys in the data folder."""

from __future__ import annotations

from pathlib import Path

from schedweb.backup import databases
from schedweb.backup.archive import BackupError, Manifest, open_backup
from schedweb.backup.restoring import fill_database, refuse_newer
from schedweb.datafolder import write_private


def restore_site(path: Path, data: Path) -> Manifest:
    """Replace the site's database with that of the backup. The site must not be running.

    Until the new database is complete, the old one is not touched. Raises BackupError.
    """
    with open_backup(path) as backup:
        if backup.manifest.cluster is not None:
            raise BackupError(
                f"this is a backup of the cluster {backup.manifest.cluster}, not of a site: "
                "add --cluster NAME to restore it as a cluster"
            )
        refuse_newer(backup.manifest)
        files = backup.files()
        databases.refuse_running_site()
        with databases.scratch_database() as scratch:
            with databases.using(scratch):
                fill_database(backup)
            databases.replace_with(scratch)
        for name, content in files.items():
            write_private(data / name, content)
            if name.suffix == ".crt":
                (data / name).chmod(0o644)
        return backup.manifest
