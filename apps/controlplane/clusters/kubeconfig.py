"""Kubeconfigs: what kubectl and client-go need to reach a cluster as a user."""

from __future__ import annotations

import base64

import yaml
from django.conf import settings
from django.contrib.auth.models import User

from apps.cluster.auth import token_of
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster


class NoAuthority(ApiError):
    """The certificate authority does not exist yet."""

    code, reason = 503, "ServiceUnavailable"


def build_kubeconfig(cluster: Cluster, user: User) -> str:
    """YAML with the https URL, the certificate authority and the user's token."""
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
    return str(yaml.safe_dump(config, sort_keys=False))


def _read_authority() -> str:
    try:
        return base64.b64encode(settings.TLS_AUTHORITY_FILE.read_bytes()).decode()
    except OSError as error:
        raise NoAuthority(
            f"no certificate authority yet ({error}); it is created at the first start"
        ) from error
