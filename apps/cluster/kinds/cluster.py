"""The kinds of the cluster itself."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.admission.defaulting.cluster import (
    add_finalizer,
    default_event,
    default_lease,
    default_namespace,
    default_node,
    default_runtime_class,
)
from apps.cluster.kind import PROXY_VERBS, Kind, Subresource
from apps.cluster.tables.cluster import LEASES, NAMESPACES, RUNTIME_CLASSES
from apps.cluster.tables.events import EVENTS
from apps.cluster.tables.nodes import NODES
from apps.cluster.validation.metadata import validate_finalize, validate_namespace
from apps.cluster.validation.names import dns_label, path_segment
from apps.cluster.validation.nodes import validate_node, validate_node_update
from apps.cluster.validation.records import validate_event, validate_lease
from apps.cluster.validation.scheduling import validate_runtime_class, validate_runtime_class_update
from apps.cluster.validation.statuses import validate_namespace_status
from apps.cluster.warnings.objects import node_warnings, runtime_class_warnings

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
    default=default_namespace,
    prepare=add_finalizer,
    initial_status=lambda _: {"phase": "Active"},
    check_name=dns_label,
    validate_status=validate_namespace_status,
    columns=NAMESPACES,
    validate_new=validate_namespace,
    validate_parts={"finalize": validate_finalize},
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
    default=default_node,
    validate=validate_node,
    validate_update=validate_node_update,
    validate_status=validate_node_update,
    columns=NODES,
    warn=node_warnings,
    warn_update=lambda new, _: node_warnings(new),
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
    default=default_event,
    check_name=path_segment,
    validate=validate_event,
    columns=EVENTS,
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
        default=default_lease,
        validate=validate_lease,
        columns=LEASES,
        needs_version=True,
    ),
    Kind(
        "RuntimeClass",
        "runtimeclasses",
        models.RuntimeClass,
        group="node.k8s.io",
        namespaced=False,
        creates_on_update=True,
        is_looked_up=True,
        default=default_runtime_class,
        validate=validate_runtime_class,
        validate_update=validate_runtime_class_update,
        columns=RUNTIME_CLASSES,
        needs_version=True,
        warn=runtime_class_warnings,
        warn_update=lambda new, _: runtime_class_warnings(new),
    ),
)
