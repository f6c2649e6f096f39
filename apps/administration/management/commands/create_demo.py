"""manage.py create_demo: create the cluster `demo` at the first start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import transaction

from apps.administration.clusters import lifecycle, manifests
from apps.administration.management.command import USER, ControlPlaneCommand
from apps.cluster.models import Cluster
from apps.cluster.roles import Visibility
from apps.cluster.writes import Actor

NAME = "demo"
OBJECTS = Path(__file__).parents[2] / "data" / "demo.yaml"


class Command(ControlPlaneCommand):
    help = "Create the cluster `demo`: a few zones and taints, and pods in every state."

    def run(self, **options: Any) -> None:
        if Cluster.objects.filter(name=NAME).exists():
            self.stdout.write(f"cluster {NAME} already exists")
            return
        with transaction.atomic():
            cluster = lifecycle.create_cluster(
                NAME,
                user=USER,
                nodes=6,
                zones=3,
                control_plane=True,
                visibility=Visibility.EVERYONE,
                seed=1,
            )
            manifests.import_yaml(cluster, OBJECTS.read_text(), actor=Actor(USER))
        self.stdout.write(f"cluster {NAME} created")
