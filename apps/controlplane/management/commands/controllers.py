"""manage.py controllers NAME [--controllers on|off] [--kubelet on|off]: switch controllers."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.controlplane.clusters import settings as cluster_settings
from apps.controlplane.management.command import ControlPlaneCommand

_SWITCH = {"on": True, "off": False, None: None}


class Command(ControlPlaneCommand):
    help = "Show the controllers and mock kubelets of a cluster, or switch them on or off."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--controllers", choices=["on", "off"])
        parser.add_argument("--kubelet", choices=["on", "off"])

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        chosen = {name: _SWITCH[options[name]] for name in ("controllers", "kubelet")}
        changes = {name: on for name, on in chosen.items() if on is not None}
        cluster_settings.change_settings(cluster, changes)
        shown = {"controllers": cluster.controllers, "kubelet": cluster.kubelet}
        states = [f"{name} {'on' if on else 'off'}" for name, on in shown.items()]
        self.stdout.write(" ".join([cluster.name, *states]))
