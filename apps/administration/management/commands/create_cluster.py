"""manage.py create_cluster NAME: create a mock cluster, with any of its settings."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.clusters import lifecycle
from apps.administration.management.command import USER, ControlPlaneCommand
from apps.administration.management.settings import add_options, read_values
from apps.cluster.roles import Visibility
from apps.cluster.settings import SETTINGS
from apps.controllers.devices.templates import TEMPLATES
from apps.engine.profiles.revisions import ALL_NODES
from apps.people import members


class Command(ControlPlaneCommand):
    help = "Create a mock cluster with the built-in namespaces and priority classes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--paused", action="store_true", help="no scheduling and no controllers"
        )
        parser.add_argument("--nodes", type=int, default=0, help="number of nodes to generate")
        parser.add_argument("--zones", type=int, default=1, help="number of zones of these nodes")
        parser.add_argument(
            "--devices",
            nargs="+",
            choices=list(TEMPLATES),
            default=(),
            help="templates of the devices of every generated node",
        )
        parser.add_argument(
            "--control-plane",
            action="store_true",
            help="also a tainted node with the mirror pod of kube-scheduler",
        )
        parser.add_argument(
            "--percentage-of-nodes-to-score",
            type=int,
            default=ALL_NODES,
            help="of the first configuration; 0 is adaptive, as kube-scheduler's default",
        )
        parser.add_argument("--owner", default="", help="the user who administers the cluster")
        parser.add_argument(
            "--visibility", choices=Visibility.values, default=Visibility.MEMBERS.value
        )
        add_options(parser, SETTINGS)

    def run(self, **options: Any) -> None:
        if options["owner"]:
            members.get_user(options["owner"])
        cluster = lifecycle.create_cluster(
            options["name"],
            user=options["owner"] or USER,
            visibility=Visibility(options["visibility"]),
            paused=options["paused"],
            nodes=options["nodes"],
            zones=options["zones"],
            devices=options["devices"],
            control_plane=options["control_plane"],
            percentage_of_nodes_to_score=options["percentage_of_nodes_to_score"],
            **read_values(options, SETTINGS),
        )
        self.stdout.write(f"cluster {cluster.name} created")
