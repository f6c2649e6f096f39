"""manage.py clock NAME: shows or sets a cluster's clock."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.engine.loop import clock


class Command(ControlPlaneCommand):
    help = "Show the clock of a mock cluster, stop it, advance it, or let it run faster."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--set", choices=["manual", "real"], help="stop the clock, or follow real time"
        )
        parser.add_argument(
            "--advance", type=float, metavar="SECONDS", help="advance a manual clock"
        )

        parser.add_argument(
            "--speed", type=float, metavar="N", help="let it run N times as fast as the system's"
        )
        parser.add_argument(
            "--fast-forward",
            type=float,
            metavar="SECONDS",
            help="jump to what happens next, until so many seconds have passed",
        )

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        if options["set"] == "manual":
            clock.set_manual(cluster)
        elif options["set"] == "real":
            clock.set_real(cluster)
        if options["advance"] is not None:
            clock.advance(cluster, options["advance"])
        if options["speed"] is not None:
            clock.set_speed(cluster, options["speed"])
        if options["fast_forward"] is not None:
            clock.fast_forward(cluster, options["fast_forward"])
        mode = clock.mode_of(cluster)
        self.stdout.write(f"{cluster.name} {mode} {cluster.now().isoformat()}")
