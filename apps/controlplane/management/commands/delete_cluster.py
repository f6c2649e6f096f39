"""manage.py delete_cluster NAME: delete a mock cluster with everything in it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.controlplane import clusters
from apps.controlplane.commands import ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Delete a mock cluster, its objects and its history."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def run(self, **options: Any) -> None:
        clusters.delete_cluster(self.cluster(options["name"]))
        self.stdout.write(f"cluster {options['name']} deleted")
