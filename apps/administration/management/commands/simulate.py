"""manage.py simulate NAME: what would be placed where, and what would not; nothing is written."""

from __future__ import annotations

from typing import Any

import msgspec
from django.core.management.base import CommandError, CommandParser

from apps.administration.management.command import USER, ControlPlaneCommand
from apps.administration.management.lab_options import add_options, build_request, describe
from apps.answers import to_json
from apps.scheduler.config import ConfigError
from apps.studies.lab.run import SimulatedPod
from apps.studies.lab.simulation import Simulation, simulate


class Command(ControlPlaneCommand):
    help = "Simulate: given pods, drained or deleted nodes, another configuration. Writes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        add_options(parser)
        parser.add_argument("--copies", type=int, default=1, help="of each given pod")
        parser.add_argument(
            "--without-pending", action="store_true", help="leave out pods that wait already"
        )
        parser.add_argument(
            "--check", action="store_true", help="exit with 1 if a pod is not placed"
        )

    def run(self, **options: Any) -> None:
        request = build_request(
            options, copies=options["copies"], pending=not options["without_pending"]
        )
        try:
            simulation = simulate(self.get_cluster(options["name"]), request, user=USER)
        except ConfigError as error:
            raise describe(error) from error
        if options["json"]:
            self.stdout.write(msgspec.json.encode(to_json(simulation)).decode())
        else:
            self._print(simulation)
        if options["check"] and simulation.not_placed:
            raise CommandError(f"{len(simulation.not_placed):,} pods are not placed")

    def _print(self, simulation: Simulation) -> None:
        base = simulation.base
        self.stdout.write(
            f"Cluster {base.cluster.name} at version {base.version}, {base.configuration.name}."
        )
        for pod in simulation.placed:
            self.stdout.write(f"  {_name(pod)} -> {pod.node}")
        for pod in simulation.not_placed:
            self.stdout.write(f"  {_name(pod)}: {pod.sentence}")
        for victim in simulation.preempted:
            self.stdout.write(
                f"  {victim.namespace}/{victim.name} on {victim.node} is preempted by {victim.by}"
            )
        for lost in simulation.lost:
            self.stdout.write(f"  {lost.namespace}/{lost.name} is lost: {lost.reason}")
        self.stdout.write(
            f"{len(simulation.placed):,} placed, {len(simulation.not_placed):,} not placed, "
            f"{len(simulation.preempted):,} preempted, {len(simulation.lost):,} lost."
        )


def _name(pod: SimulatedPod) -> str:
    return f"{pod.key} (from {pod.left})" if pod.left else pod.key
