"""The kinds of the cluster itself."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.kind import PROXY_VERBS, Kind, Subresource

NAMESPACE: Final = Kind(
    "Namespace",
    "namespaces",
    models.Namespace,
    namespaced=False,
    short_names=("ns",),
    fields=("status.phase",),
    has_status=True,
    subresources=(Subresource("finalize", "Namespace", ("update",)),),
    is_looked_up=True,
)
NODE: Final = Kind(
    "Node",
    "nodes",
    models.Node,
    namespaced=False,
    short_names=("no",),
    fields=("spec.unschedulable",),
    has_status=True,
    subresources=(Subresource("proxy", "NodeProxyOptions", PROXY_VERBS),),
)
EVENT: Final = Kind(
    "Event",
    "events",
    models.Event,
    short_names=("ev",),
    fields=(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    creates_on_update=True,
    is_record=True,
)

KINDS: Final = (
    NAMESPACE,
    NODE,
    EVENT,
    Kind(
        "Lease",
        "leases",
        models.Lease,
        group="coordination.k8s.io",
        creates_on_update=True,
        is_record=True,
    ),
    Kind(
        "RuntimeClass",
        "runtimeclasses",
        models.RuntimeClass,
        group="node.k8s.io",
        namespaced=False,
        creates_on_update=True,
        is_looked_up=True,
    ),
)
