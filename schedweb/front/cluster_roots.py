"""Names of clusters: `demo.localhost` has the Kubernetes API of cluster `demo` at its root.

Some tools drop the path of the server's URL (`kubectl get --raw` before 1.33, `kubectl proxy`,
Helm). For them a cluster has a name of its own: the TLS server name of the connection (SNI), or the
Host of the request. Nothing but the API is served there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from schedweb.front.asgi import Application, Receive, Scope, Send, respond

#: The key of a request's scope that holds the TLS server name of its connection.
SERVER_NAME = "schedweb.server_name"

_CLUSTER = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NUMBERS = re.compile(r"[\d.]+")
#: Paths that a Kubernetes client asks for, and that mean nothing at the root of the site.
_KUBERNETES_PATH = re.compile(r"/(api|apis|openapi|version)(/.*)?|/k8s/.*")
_CONTROL_PATHS = ("/api/v1/", "/api/docs", "/api/schema")


def site_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names that may follow a cluster's: no addresses, no wildcards."""
    return tuple(
        name.lower()
        for name in dict.fromkeys(names)
        if name and ":" not in name and "*" not in name and not name.startswith(".")
        if not _NUMBERS.fullmatch(name)
    )


def cluster_of(name: str, sites: tuple[str, ...]) -> tuple[str, str] | None:
    """The cluster and the site that a DNS name consists of; None for any other name."""
    cluster, _, site = name.lower().rstrip(".").partition(".")
    if site not in sites or f"{cluster}.{site}" in sites or not _CLUSTER.fullmatch(cluster):
        return None
    return cluster, site


class ClusterRoots:
    """The ASGI application that gives each cluster's name its API; everything else to *front*.

    Kubernetes paths that are served nowhere get a Status, which clients can show, never a page.
    """

    def __init__(self, front: Application, names: Iterable[str]) -> None:
        self._front = front
        self._sites = site_names(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = _host(scope)
        root = cluster_of(scope.get(SERVER_NAME, ""), self._sites) or cluster_of(
            split_domain_port(host)[0], self._sites
        )
        if root is not None:
            scope = _below(scope, *root, host)
        elif scope["type"] == "http" and _KUBERNETES_PATH.fullmatch(scope["path"]):
            message = _refusal(scope["path"], host)
            if message:
                code, reason, text = message
                await respond(send, code, _status(code, reason, text), "application/json")
                return
        await self._front(scope, receive, send)


def _host(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return str(value.decode("latin-1"))
    return ""


def _below(scope: Scope, cluster: str, site: str, host: str) -> Scope:
    """The request as it is made to the site: below the cluster's path, and to the site's name."""
    root = f"/k8s/{cluster}"
    port = host.rpartition(":")[2] if re.search(r":\d+$", host) else ""
    named = f"{site}:{port}" if port else site
    headers = [pair for pair in scope["headers"] if pair[0] != b"host"]
    scope = {**scope, "headers": [(b"host", named.encode()), *headers]}
    # links in responses, such as those of /openapi/v3, carry the path of the cluster
    if not scope["path"].startswith(f"{root}/"):
        scope["path"] = root + scope["path"]
        scope["raw_path"] = root.encode() + scope["raw_path"]
    return scope


def _refusal(path: str, host: str) -> tuple[int, str, str] | None:
    """Code, reason and message for a Kubernetes path that is not served; None if it may be."""
    if not _is_served(host):
        name = split_domain_port(host)[0]
        return 400, "BadRequest", f"the host {name!r} is not served; see SCHEDWEB_ALLOWED_HOSTS"
    if path.startswith(("/k8s/", *_CONTROL_PATHS)):
        return None
    return (
        404,
        "NotFound",
        "this is the root of the site; the Kubernetes API of a cluster is served "
        "below /k8s/{cluster}, or at the name {cluster}.<site>",
    )


@lru_cache(maxsize=100)
def _is_served(host: str) -> bool:
    return validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)


def _status(code: int, reason: str, message: str) -> bytes:
    return msgspec.json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
    )
