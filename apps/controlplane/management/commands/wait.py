"""manage.py wait NAME: block until the loop has done everything there was to do."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from apps.controlplane import queries
from apps.controlplane.management.command import ControlPlaneCommand
from apps.controlplane.workers import waiting


class Command(ControlPlaneCommand):
    help = (
        "Wait until the loop has consumed the change log up to now and nothing is active, in "
        "flight or in backoff. Exit code 1 when time runs out."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--timeout", type=float, default=600.0, help="seconds (600)")

    def run(self, **options: Any) -> None:
        cluster = self.cluster(options["name"])
        ignored = queries.pods_of_other_schedulers(cluster).count()
        states = waiting.loop_states(cluster, timeout=options["timeout"], ignored_pods=ignored)
        state = None
        with tqdm(desc="waiting", unit=" pods", disable=None) as bar:
            try:
                for state in states:
                    bar.total = max(bar.total or 0, state.waiting_pods)
                    bar.update(bar.total - state.waiting_pods - bar.n)
            except TimeoutError:
                raise CommandError(
                    f"{cluster.name} is not quiet after {options['timeout']:g} s: {state}"
                ) from None
        self.stdout.write(f"{cluster.name} is quiet")
