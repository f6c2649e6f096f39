"""manage.py kubeconfig NAME --user USER: print a kubeconfig for a mock cluster."""

from __future__ import annotations

import base64
from typing import Any

import yaml
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from apps.cluster.auth import token_of
from apps.controlplane.management.command import ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Print a kubeconfig with the https server URL, certificate authority and bearer token."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--user", required=True, help="the user whose token it contains")

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"no user {options['user']!r}")
        name = f"schedweb-{cluster.name}"
        server = {
            "server": f"{settings.PUBLIC_HTTPS_URL}/k8s/{cluster.name}",
            "certificate-authority-data": _read_authority(),
        }
        context = {"cluster": name, "user": user.get_username(), "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": server}],
            "users": [{"name": user.get_username(), "user": {"token": token_of(user)}}],
            "contexts": [{"name": name, "context": context}],
            "current-context": name,
        }
        self.stdout.write(yaml.safe_dump(config, sort_keys=False), ending="")


def _read_authority() -> str:
    try:
        return base64.b64encode(settings.TLS_AUTHORITY_FILE.read_bytes()).decode()
    except OSError as error:
        raise CommandError(
            f"no certificate authority yet ({error}); it is created at the first start"
        ) from error
