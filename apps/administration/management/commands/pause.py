"""manage.py pause NAME: pause a mock cluster."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.clusters import lifecycle
from apps.administration.management.command import ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Pause a mock cluster: no scheduling, no controllers."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def run(self, **options: Any) -> None:
        lifecycle.pause(self.get_cluster(options["name"]))
        self.stdout.write(f"cluster {options['name']} paused")
