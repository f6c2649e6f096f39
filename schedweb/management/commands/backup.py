"""``manage.py backup FILE [--cluster NAME]``: write a backup while the site runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.cluster.errors import NotFound
from schedweb.backup import databases, saving


class Command(BaseCommand):
    requires_system_checks: list[str] = []
    help = "Write a backup of the site, or of one cluster with its history, while the site runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--cluster", metavar="NAME", help="only this cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if path.exists():
            raise CommandError(f"{path} exists")
        try:
            with databases.connect(databases.site_name()) as connection:
                if options["cluster"]:
                    manifest = saving.save_cluster(connection, options["cluster"], path)
                else:
                    manifest = saving.save_site(connection, settings.DATA_DIR, path)
        except (NotFound, OSError, psycopg.Error) as error:
            raise CommandError(f"no backup was written: {error}") from error
        rows = sum(table.rows for table in manifest.tables.values())
        megabytes = path.stat().st_size / 1e6
        what = f"cluster {manifest.cluster}" if manifest.cluster else "the site"
        self.stdout.write(f"{path}: {what}, {rows} rows, {megabytes:.1f} MB")
