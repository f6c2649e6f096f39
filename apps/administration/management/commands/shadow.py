"""manage.py shadow NAME: follow a real cluster, so that its bindings are reviewed here."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.administration.management.command import USER, ControlPlaneCommand
from apps.administration.shadows.creating import create_shadow, find_shadow
from apps.administration.shadows.following import follow
from apps.administration.shadows.kubeconfig import Connection, read_kubeconfig
from apps.cluster.models import Cluster
from apps.cluster.roles import Visibility
from apps.engine.models import Shadow
from apps.people import members


class Command(ControlPlaneCommand):
    help = (
        "Follow a real cluster until Ctrl-C, with one list and one watch for each kind that "
        "scheduling reads, and no writes. Creates the shadow, or continues one. The kubeconfig is "
        "not stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the shadow")
        parser.add_argument("--kubeconfig", type=Path, required=True, metavar="FILE")
        parser.add_argument("--context", default="", help="otherwise the current one")
        parser.add_argument(
            "--configuration",
            type=Path,
            metavar="FILE",
            help="KubeSchedulerConfiguration of the real scheduler; otherwise its default",
        )
        parser.add_argument("--owner", default="", help="the user who administers the shadow")
        parser.add_argument(
            "--visibility", choices=Visibility.values, default=Visibility.MEMBERS.value
        )

    def run(self, **options: Any) -> None:
        connection = read_kubeconfig(options["kubeconfig"], options["context"])
        shadow = self._open(connection, options)
        stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        self.stdout.write(f"{shadow.cluster.name} follows {shadow.server}; Ctrl-C ends it")
        follow(shadow, connection.connect, stopping=stopping.is_set, report=self.stdout.write)

    def _open(self, connection: Connection, options: dict[str, Any]) -> Shadow:
        """The shadow of this name, which is created if there is none."""
        name = options["name"]
        cluster = Cluster.objects.filter(name=name).first()
        if cluster is None:
            return self._create(connection, options)
        shadow = find_shadow(cluster)
        if shadow is None:
            raise CommandError(f"{name} is a mock cluster, and follows no other one")
        if shadow.server != connection.server:
            raise CommandError(f"{name} follows {shadow.server}, not {connection.server}")
        if options["configuration"]:
            raise CommandError("--configuration: of a shadow that exists, change it on its page")
        return shadow

    @staticmethod
    def _create(connection: Connection, options: dict[str, Any]) -> Shadow:
        if options["owner"]:
            members.get_user(options["owner"])
        path = options["configuration"]
        try:
            configuration = path.read_text() if path else ""
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path}: {error}") from error
        return create_shadow(
            options["name"],
            connection.server,
            user=options["owner"] or USER,
            context=connection.context,
            configuration=configuration,
            visibility=Visibility(options["visibility"]),
        )
