"""The ComponentStatuses of a cluster: whether its scheduler, controllers and store work."""

from __future__ import annotations

from typing import Any

from apps.cluster.models import Cluster
from apps.engine.workers import readiness

Body = dict[str, Any]


def list_components(cluster: Cluster) -> list[Body]:
    """The ComponentStatuses by name. The loop runs scheduler and controllers, the database is etcd.

    A component that does not run is not healthy: the controllers of a paused cluster, or a
    scheduler that a client of the API replaces.
    """
    late = next((seconds for _, seconds in readiness.overdue_clusters(cluster.pk)), None)
    stopped = "the cluster is paused" if cluster.paused else ""
    overdue = f"no worker has taken this cluster for {late:.0f} s" if late is not None else ""
    loop = stopped or overdue
    external = cluster.scheduling != Cluster.Scheduling.BUILT_IN
    controllers = loop or ("" if cluster.controllers else "the controllers are off")
    scheduler = loop or ("an external scheduler binds the pods" if external else "")
    return [
        _status("controller-manager", controllers),
        _status("etcd-0", ""),
        _status("scheduler", scheduler),
    ]


def _status(name: str, problem: str) -> Body:
    condition = {"type": "Healthy", "status": "False" if problem else "True"}
    said = {"message": problem, "error": problem} if problem else {"message": "ok"}
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [{**condition, **said}],
    }
