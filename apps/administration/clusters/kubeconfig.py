"""Kubeconfigs: what kubectl and client-go need to reach a cluster as a user."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import yaml
from django.conf import settings
from django.contrib.auth.models import User

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.people.tokens import create_token, free_name


class NoAuthority(ApiError):
    """The certificate authority does not exist yet."""

    code, reason = 503, "ServiceUnavailable"


#: How a URL without a path names the cluster: by TLS server name, or by host.
ROOTS = ("sni", "host")


@dataclass(frozen=True, slots=True)
class TokenOptions:
    """What the token in a kubeconfig should be."""

    #: "": named after the cluster.
    name: str = ""
    expires_at: datetime | None = None
    read_only: bool = False
    #: Whether it reaches no other cluster.
    only_cluster: bool = False


def create_kubeconfig(
    cluster: Cluster, user: User, root: str | None = None, options: TokenOptions | None = None
) -> str:
    """YAML with the https URL, the certificate authority and a new token of the user.

    `root`, one of `ROOTS`: a URL without a path, for tools that drop it. Raises NoAuthority, and
    what `create_token` raises; no token is created then.
    """
    server = {
        **_address(cluster.name, root),
        "certificate-authority-data": _read_authority(),
    }
    key = _create_token(cluster, user, options or TokenOptions())
    return _compose(f"schedweb-{cluster.name}", server, user.get_username(), key)


def _create_token(cluster: Cluster, user: User, options: TokenOptions) -> str:
    name = options.name or free_name(user, f"kubeconfig of {cluster.name}")
    return create_token(
        user,
        name,
        clusters=[cluster.name] if options.only_cluster else None,
        read_only=options.read_only,
        expires_at=options.expires_at,
    ).key


def _compose(name: str, server: dict[str, str], username: str, key: str) -> str:
    context = {"cluster": name, "user": username, "namespace": "default"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": username, "user": {"token": key}}],
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
