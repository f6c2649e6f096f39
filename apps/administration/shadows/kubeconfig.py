"""Connects to the cluster of a kubeconfig, as kubectl does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from urllib3 import Timeout, disable_warnings
from urllib3.exceptions import InsecureRequestWarning

from apps.administration.shadows.remote import Fetch
from apps.cluster.errors import BadRequest

#: Seconds until a connection, and between two pieces of a response: the API server sends a bookmark
#: to each watch about once in a minute.
_TIMEOUT: Final = Timeout(connect=10.0, read=100.0)

# the kubeconfig says whether certificates are checked
disable_warnings(InsecureRequestWarning)


@dataclass(frozen=True, slots=True)
class Connection:
    """A cluster that a kubeconfig names."""

    server: str
    context: str
    #: Returns what sends a GET, with connections of its own.
    connect: Callable[[], Fetch]


def read_kubeconfig(path: Path, context: str = "") -> Connection:
    """The cluster of a context, or of the current one; raises BadRequest."""
    try:
        from kubernetes import config
        from kubernetes.config.config_exception import ConfigException
    except ImportError:
        raise BadRequest(
            "a shadow needs the package kubernetes, which is not installed here: "
            "python3 -m pip --python .venv/bin/python install kubernetes"
        ) from None

    def new_client() -> Any:
        return config.new_client_from_config(str(path), context or None, persist_config=False)

    try:
        _, current = config.list_kube_config_contexts(str(path))
        server = new_client().configuration.host
    except (ConfigException, OSError) as error:
        raise BadRequest(f"{path}: {error}") from error
    return Connection(server, context or current["name"], lambda: _fetch_with(new_client()))


def _fetch_with(client: Any) -> Fetch:
    def fetch(path: str, query: Mapping[str, str]) -> Any:
        headers: dict[str, str] = {"Accept": "application/json"}
        client.update_params_for_auth(headers, [], ["BearerToken"])
        # below the library's own decoding, which is slow and needs every kind to be known
        return client.rest_client.pool_manager.request(
            "GET",
            client.configuration.host + path,
            fields=dict(query),
            headers=headers,
            preload_content=False,
            redirect=False,
            timeout=_TIMEOUT,
        )

    return fetch
