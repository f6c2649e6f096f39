"""manage.py delete_cluster NAME [--with-history]: delete a mock cluster."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.clusters import lifecycle
from apps.administration.management.command import USER, ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Delete a mock cluster and its objects; its history is retained under its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--with-history", action="store_true", help="also delete its decisions and changes"
        )

    def run(self, **options: Any) -> None:
        cluster, with_history = self.get_cluster(options["name"]), options["with_history"]
        cluster_id = cluster.pk
        lifecycle.delete_cluster(cluster, with_history=with_history, user=USER)
        note = "" if with_history else f"; its history is retained under id {cluster_id}"
        self.stdout.write(f"cluster {options['name']} deleted{note}")
