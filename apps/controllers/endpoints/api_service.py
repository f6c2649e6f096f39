"""Restores the Service of the API server, as the API server itself does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.writes import Create
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Step
from apps.controllers.endpoints.backends import KIND
from apps.scheduler.objects import Namespace, Service

#: Its name, in the namespace `default`.
API_SERVICE: Final = "kubernetes"
_PLACE: Final[Ref] = (KIND, "default", API_SERVICE)


def generate_api_service() -> tuple[Kind, dict[str, Any]]:
    """The Service of the API server, which every cluster has."""
    labels = {"component": "apiserver", "provider": "kubernetes"}
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    return (
        kinds.by_name(KIND),
        {
            "metadata": {"name": API_SERVICE, "namespace": "default", "labels": labels},
            "spec": {
                "clusterIP": "10.96.0.1",
                "ipFamilyPolicy": "SingleStack",
                "ports": [port],
            },
        },
    )


def refs_for_service(_: ControllerCache, old: Service | None, new: Service | None) -> Iterable[Ref]:
    if new is not None or old is None:
        return ()
    is_concerned = (old.metadata.namespace, old.metadata.name) == _PLACE[1:]
    return [_PLACE] if is_concerned else ()


def refs_for_namespace(
    _: ControllerCache, old: Namespace | None, new: Namespace | None
) -> Iterable[Ref]:
    """With its namespace, the Service is looked for once in each process."""
    is_found = old is None and new is not None and new.metadata.name == _PLACE[1]
    return [_PLACE] if is_found else ()


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    if cache.get(ref, Service) is None:
        kind, body = generate_api_service()
        yield Create(kind, body, ref[1])


CONTROLLER = Controller(
    name="API service",
    user="kube-apiserver",
    concerns={KIND: refs_for_service, "Namespace": refs_for_namespace},
    reconcile=reconcile,
)
