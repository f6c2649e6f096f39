"""manage.py load_openb CLUSTER --nodes FILE --pods FILE: import the openb trace."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from tqdm import tqdm

from apps.administration.clusters import lifecycle
from apps.administration.management.command import USER, ControlPlaneCommand
from apps.administration.operations import traces
from apps.cluster.writes import Actor
from apps.studies.importers.openb import TraceFile


class Command(ControlPlaneCommand):
    help = "Import the openb trace into a cluster: its nodes, and its pods as new pending pods."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("--nodes", type=Path, required=True, help="CSV file of nodes")
        parser.add_argument("--pods", type=Path, required=True, help="CSV file of pods")
        parser.add_argument(
            "--gpu-devices",
            action="store_true",
            help="each GPU is a device that pods share by claims, instead of gpu-milli of its node",
        )
        parser.add_argument(
            "--paused", action="store_true", help="pause the cluster first and leave it paused"
        )

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["cluster"])
        if options["paused"]:
            lifecycle.pause(cluster)
        started = time.monotonic()
        with tqdm(desc="importing", unit=" objects", disable=None) as bar:

            def show_progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            nodes, pods = traces.load(
                cluster,
                TraceFile.read(options["nodes"]),
                TraceFile.read(options["pods"]),
                actor=Actor(USER),
                gpu_devices=options["gpu_devices"],
                progress=show_progress,
            )
        seconds = time.monotonic() - started
        self.stdout.write(f"{nodes} nodes and {pods} pods imported in {seconds:.1f} s")
