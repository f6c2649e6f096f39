"""manage.py controllers NAME [--controllers on|off] [--kubelet on|off]: switch controllers."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.clusters import settings as cluster_settings
from apps.administration.management.command import ControlPlaneCommand
from apps.administration.management.settings import add_options, read_values
from apps.cluster.settings import SETTINGS

_SWITCHES = [each for each in SETTINGS if each.group == "actors"]


class Command(ControlPlaneCommand):
    help = "Show the controllers and mock kubelets of a cluster, or switch them on or off."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        add_options(parser, _SWITCHES)

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        cluster_settings.change_settings(cluster, read_values(options, _SWITCHES))
        states = [
            f"{each.name} {'on' if getattr(cluster, each.name) else 'off'}" for each in _SWITCHES
        ]
        self.stdout.write(" ".join([cluster.name, *states]))
