"""manage.py delete_cluster NAME [--with-history]: delete a mock cluster, keep its decisions."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.controlplane.clusters import lifecycle
from apps.controlplane.management.command import USER, ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Delete a mock cluster and its objects; its decisions stay under its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--with-history", action="store_true", help="delete its decisions and changes, too"
        )

    def run(self, **options: Any) -> None:
        cluster, with_history = self.cluster(options["name"]), options["with_history"]
        number = cluster.pk
        lifecycle.delete_cluster(cluster, with_history=with_history, user=USER)
        left = "" if with_history else f"; its history is kept under the id {number}"
        self.stdout.write(f"cluster {options['name']} deleted{left}")
