"""manage.py clock NAME [--set manual|real] [--advance SECONDS]: a cluster's clock."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.controlplane.loop import clock
from apps.controlplane.management.command import ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Show the clock of a mock cluster, switch it between manual and real, or advance it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--set", choices=["manual", "real"], help="stop the clock, or follow real time"
        )
        parser.add_argument(
            "--advance", type=float, metavar="SECONDS", help="advance a manual clock"
        )

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        if options["set"] == "manual":
            clock.set_manual(cluster)
        elif options["set"] == "real":
            clock.set_real(cluster)
        if options["advance"] is not None:
            clock.advance(cluster, options["advance"])
        kind = "real" if cluster.manual_time is None else "manual"
        self.stdout.write(f"{cluster.name} {kind} {cluster.now().isoformat()}")
