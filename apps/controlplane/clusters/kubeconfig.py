"""Kubeconfigs: what kubectl and client-go need to reach a cluster as a user."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit

import yaml
from django.conf import settings
from django.contrib.auth.models import User

from apps.cluster.auth import token_of
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster


class NoAuthority(ApiError):
    """The certificate authority does not exist yet."""

    code, reason = 503, "ServiceUnavailable"


#: How a URL without a path names the cluster: by TLS server name, or by host.
ROOTS = ("sni", "host")


def build_kubeconfig(cluster: Cluster, user: User, root: str | None = None) -> str:
    """YAML with the https URL, the certificate authority and the user's token.

    `root`, one of `ROOTS`: a URL without a path, for tools that drop it.
    """
    name = f"schedweb-{cluster.name}"
    server = {
        **_address(cluster.name, root),
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


def _address(cluster: str, root: str | None) -> dict[str, str]:
    """The server's URL, and the TLS server name if that is what names the cluster."""
    base = settings.PUBLIC_HTTPS_URL
    if root is None:
        return {"server": f"{base}/k8s/{cluster}"}
    url = urlsplit(base)
    if root == "sni":
        name = f"{cluster}.{url.hostname}"
        return {"server": f"{url.scheme}://{url.netloc}", "tls-server-name": name}
    return {"server": f"{url.scheme}://{cluster}.{url.netloc}"}


def _read_authority() -> str:
    try:
        return base64.b64encode(settings.TLS_AUTHORITY_FILE.read_bytes()).decode()
    except OSError as error:
        raise NoAuthority(
            f"no certificate authority yet ({error}); it is created at the first start"
        ) from error
