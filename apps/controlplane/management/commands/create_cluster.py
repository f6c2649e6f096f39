"""manage.py create_cluster NAME: create a mock cluster."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from apps.cluster.admission.plugins.registry import NAMES
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.controlplane.clusters import lifecycle
from apps.controlplane.management.command import USER, ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Create a mock cluster with the built-in namespaces and priority classes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--paused", action="store_true", help="no scheduling and no controllers"
        )
        parser.add_argument("--nodes", type=int, default=0, help="generate so many nodes")
        parser.add_argument("--zones", type=int, default=1, help="spread them over so many zones")
        parser.add_argument(
            "--tie-break",
            choices=Cluster.TieBreak.values,
            default=Cluster.TieBreak.RANDOM,
            help="among nodes with equal scores: a seeded draw, or the smallest name",
        )
        parser.add_argument("--seed", type=int, help="of the draw (default: a random one)")
        parser.add_argument(
            "--pod-max-in-unschedulable-pods-seconds",
            type=int,
            default=300,
            metavar="SECONDS",
            help="retry a pod that no event has helped for so long (default: 300)",
        )
        parser.add_argument(
            "--event-ttl-seconds",
            type=int,
            default=3600,
            metavar="SECONDS",
            help="keep an event so long after it was last seen (default: 3600)",
        )
        parser.add_argument(
            "--admission",
            action="append",
            default=[],
            metavar="PLUGIN[=PARAMETERS]",
            help=f"switch an admission plugin on; parameters are JSON ({', '.join(NAMES)})",
        )

    def run(self, **options: Any) -> None:
        cluster = lifecycle.create_cluster(
            options["name"],
            user=USER,
            paused=options["paused"],
            nodes=options["nodes"],
            zones=options["zones"],
            tie_break=options["tie_break"],
            seed=options["seed"],
            pod_max_in_unschedulable_pods_seconds=options["pod_max_in_unschedulable_pods_seconds"],
            event_ttl_seconds=options["event_ttl_seconds"],
            admission_plugins=dict(map(_plugin, options["admission"])),
        )
        self.stdout.write(f"cluster {cluster.name} created")


def _plugin(text: str) -> tuple[str, Any]:
    """`NAME` or `NAME={"parameter": …}`."""
    name, _, parameters = text.partition("=")
    try:
        return name, json.loads(parameters or "{}")
    except ValueError as error:
        raise BadRequest(f"--admission {name}: the parameters are not JSON: {error}") from error
