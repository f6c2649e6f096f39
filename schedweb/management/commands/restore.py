"""``manage.py restore FILE [--cluster NAME [--owner USER]]``: restore a site, or a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from psycopg.conninfo import conninfo_to_dict

from apps.administration.management.command import USER
from apps.cluster.errors import AlreadyExists, NotFound
from schedweb.backup.archive import BackupError
from schedweb.backup.cluster import restore_cluster
from schedweb.backup.site import restore_site
from schedweb.datafolder import DataFolder, DataFolderBusy, DataFolderUnusable
from schedweb.embedded.postgres import Postgres


class Command(BaseCommand):
    requires_system_checks: list[str] = []
    help = (
        "Restore a backup. A site must be stopped, and is replaced; a cluster is created while the "
        "site runs. A file that is damaged or of a newer version is refused, and nothing changes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--cluster",
            metavar="NAME",
            help="create this cluster from the backup of a cluster or of a site",
        )
        parser.add_argument(
            "--owner", default="", help="the user who administers the cluster; nobody without it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        name: str = options["cluster"]
        owner: str = options["owner"]
        if owner and not name:
            raise CommandError("--owner: a restored site keeps its owners; give --cluster as well")
        try:
            if name:
                restore_cluster(path, name, owner=owner, actor=USER)
                access = f"its owner is {owner}" if owner else "it has no owner"
                self.stdout.write(
                    f"cluster {name} restored: {access} and no members, its webhooks are disabled"
                )
                return
            with _database():
                manifest = restore_site(path, settings.DATA_DIR)
            self.stdout.write(f"the site of {manifest.created_at} is restored; start it now")
        except (
            AlreadyExists,
            BackupError,
            DataFolderBusy,
            DataFolderUnusable,
            DatabaseError,
            NotFound,
        ) as error:
            raise CommandError(f"not restored: {error}") from error


@contextmanager
def _database() -> Iterator[None]:
    """Start the embedded database of a stopped site for as long as the restore takes."""
    if not settings.CONFIG.embedded_database:
        yield
        return
    with DataFolder(settings.DATA_DIR, purpose="manage.py restore") as folder:
        postgres = Postgres(folder.path, log=folder.path / "log" / "postgres.log")
        try:
            postgres.start()
            address = conninfo_to_dict(postgres.url)
            connection.settings_dict.update(
                HOST=address["host"], USER=address["user"], NAME=address["dbname"]
            )
            yield
        finally:
            connection.close()
            postgres.stop()
