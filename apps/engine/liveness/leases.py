"""The Leases that kubelets and control plane components renew, computed when they are read.

A row for each renewal would be thousands of writes every ten seconds. `renewTime` follows from the
cluster's clock instead, and stops when the node is lost (docs/adr/computed-leases.md).
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from apps.cluster.models import Cluster, Node
from apps.cluster.writing.metadata import timestamp

Body = dict[str, Any]

NODE_NAMESPACE: Final = "kube-node-lease"
COMPONENT_NAMESPACE: Final = "kube-system"
#: A kubelet renews its Lease every 10 seconds; it is valid for 40.
_NODE_PERIOD: Final = 10
_NODE_DURATION: Final = 40
#: The holder of a leader election renews every 2 seconds; it leads for 15 after the last renewal.
_LEADER_PERIOD: Final = 2
_LEADER_DURATION: Final = 15


def list_leases(cluster: Cluster, namespace: str | None, name: str = "") -> list[Body]:
    """The Leases that running components hold, in a namespace (None: all), in no order.

    With `name`, only the one that has it. There are none while the cluster is paused, because then
    nothing renews them.
    """
    if cluster.paused:
        return []
    leases: list[Body] = []
    if namespace in (None, NODE_NAMESPACE) and cluster.kubelet:
        leases += _node_leases(cluster, name)
    if namespace in (None, COMPONENT_NAMESPACE):
        leases += [
            _component_lease(cluster, component)
            for component in _components(cluster)
            if name in ("", component)
        ]
    return leases


def _node_leases(cluster: Cluster, name: str) -> Iterator[Body]:
    nodes = Node.objects.filter(cluster=cluster, **({"name": name} if name else {}))
    rows = nodes.values_list("name", "uid", "created_at", "body__status__conditions")
    now = cluster.now()
    for node, uid, created, conditions in rows:
        renewed = _renewal(node, conditions or (), now)
        if renewed is not None:
            owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": str(uid)}
            spec = {"holderIdentity": node, "leaseDurationSeconds": _NODE_DURATION}
            lease = _lease(cluster, NODE_NAMESPACE, node, max(created, renewed), spec)
            lease["metadata"] |= {
                "creationTimestamp": timestamp(created),
                "ownerReferences": [owner],
            }
            yield lease


def _renewal(node: str, conditions: Iterable[Body], now: datetime) -> datetime | None:
    """When the node's kubelet last renewed its Lease; None if it has not registered the node."""
    ready = next((each for each in conditions if each.get("type") == "Ready"), None)
    if ready is None:
        return None
    since = ready.get("lastTransitionTime")
    if ready.get("status") == "Unknown" and since:
        # the node controller waited for so long before it declared the node lost
        return datetime.fromisoformat(since) - timedelta(seconds=_NODE_DURATION)
    return _last_beat(now, _NODE_PERIOD, node)


def _components(cluster: Cluster) -> list[str]:
    """The components that lead. An external scheduler creates the Lease of its own."""
    built_in = cluster.scheduling == Cluster.Scheduling.BUILT_IN
    names = ["kube-controller-manager"] if cluster.controllers else []
    return [*names, *(["kube-scheduler"] if built_in else [])]


def _component_lease(cluster: Cluster, name: str) -> Body:
    renewed = max(cluster.created_at, _last_beat(cluster.now(), _LEADER_PERIOD, name))
    spec = {
        "holderIdentity": f"schedweb_{uuid.uuid5(cluster.uid, name)}",
        "leaseDurationSeconds": _LEADER_DURATION,
        "acquireTime": _micro_time(cluster.created_at),
        "leaseTransitions": 0,
    }
    return _lease(cluster, COMPONENT_NAMESPACE, name, renewed, spec)


def _lease(cluster: Cluster, namespace: str, name: str, renewed: datetime, spec: Body) -> Body:
    return {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": str(uuid.uuid5(cluster.uid, f"{namespace}/{name}")),
            "resourceVersion": str(cluster.resource_version),
            "creationTimestamp": timestamp(cluster.created_at),
        },
        "spec": {**spec, "renewTime": _micro_time(renewed)},
    }


def _last_beat(now: datetime, period: int, name: str) -> datetime:
    """The last beat before `now`; components with different names do not beat together."""
    phase = zlib.crc32(name.encode()) % (period * 1000) / 1000
    elapsed = (now.timestamp() - phase) % period
    return now - timedelta(seconds=elapsed)


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
