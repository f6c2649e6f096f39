"""manage.py kubeconfig NAME --user USER: print a kubeconfig for a mock cluster."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlsplit

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
        parser.add_argument(
            "--root",
            choices=("sni", "host"),
            nargs="?",
            const="sni",
            help="a server URL without a path, for tools that drop it (Helm, kubectl proxy, "
            "kubectl get --raw before 1.33): the cluster is named by the TLS server name (sni, the "
            "default), or by the host, which must then resolve",
        )

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"no user {options['user']!r}")
        name = f"schedweb-{cluster.name}"
        server = {
            **_address(cluster.name, options["root"]),
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


def _address(cluster: str, root: str | None) -> dict[str, str]:
    """The server's URL, and the TLS server name if that is what names the cluster."""
    base = settings.PUBLIC_HTTPS_URL
    if root is None:
        return {"server": f"{base}/k8s/{cluster}"}
    url = urlsplit(base)
    name = f"{cluster}.{url.hostname}"
    if root == "sni":
        return {"server": f"{url.scheme}://{url.netloc}", "tls-server-name": name}
    return {"server": f"{url.scheme}://{cluster}.{url.netloc}"}


def _read_authority() -> str:
    try:
        return base64.b64encode(settings.TLS_AUTHORITY_FILE.read_bytes()).decode()
    except OSError as error:
        raise CommandError(
            f"no certificate authority yet ({error}); it is created at the first start"
        ) from error
