"""The registry of kinds: what the API, the store and the pages know about each of them.

A kind that is only data is a row in data_kinds.py. A kind with a table of its own is a model in
models.py, a row here, a migration, and what CONTRIBUTING.md lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.cluster import models
from apps.cluster.data_kinds import ROWS
from apps.cluster.errors import qualified
from apps.cluster.models import Cluster


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column that a CustomResourceDefinition declares."""

    name: str
    type: str
    json_path: str
    format: str
    description: str
    priority: int


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object and how the API addresses it."""

    name: str
    plural: str
    model: type[models.KubernetesObject]
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    #: Whether `/status` is a subresource, so that ordinary updates leave `status` alone.
    has_status: bool = False
    #: Whether `metadata.generation` counts the changes of `spec`.
    has_generation: bool = False
    #: Categories, such as "all" for `kubectl get all`.
    categories: tuple[str, ...] = ()
    #: fieldSelector paths beyond metadata.name and metadata.namespace.
    fields: tuple[str, ...] = ()
    #: Deletion returns the object instead of a Status.
    returns_deleted: bool = False
    #: A PUT of a missing object creates it.
    creates_on_update: bool = False
    #: The feature gate without which a cluster does not serve it; "" for none.
    feature_gate: str = ""
    #: The name of its CustomResourceDefinition; "" for a kind of this registry.
    definition_name: str = ""
    #: Of such a kind: its OpenAPI definition, and its columns.
    schema_name: str = ""
    printer_columns: tuple[PrinterColumn, ...] = ()

    @property
    def key(self) -> str:
        """The name under which tables and the change log have it; unique in a cluster."""
        return self.definition_name or self.name

    @property
    def is_data(self) -> bool:
        """Whether its objects are in the table that kinds share."""
        return self.model is models.DataObject

    @property
    def table(self) -> str:
        """What follows FROM in SQL, before an alias: the rows of this kind."""
        table = self.model._meta.db_table
        return f"(SELECT * FROM {table} WHERE kind = '{self.key}')" if self.is_data else table

    @property
    def constants(self) -> dict[str, str]:
        """The columns that have the same value in every row of this kind."""
        return {"kind": self.key} if self.is_data else {}

    def objects(self, cluster: Cluster) -> QuerySet[Any]:
        """The rows of this kind in a cluster."""
        return self.model._default_manager.filter(cluster=cluster, **self.constants)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_plural(self) -> str:
        """`replicasets.apps`, as messages name it."""
        return qualified(self.plural, self.group)


_POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_EVENT_FIELDS = (
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
)
_STORAGE = "storage.k8s.io"

NAMESPACE = Kind(
    "Namespace",
    "namespaces",
    models.Namespace,
    namespaced=False,
    short_names=("ns",),
    has_status=True,
    fields=("status.phase",),
)
NODE = Kind(
    "Node",
    "nodes",
    models.Node,
    namespaced=False,
    short_names=("no",),
    has_status=True,
    fields=("spec.unschedulable",),
)
POD = Kind(
    "Pod",
    "pods",
    models.Pod,
    short_names=("po",),
    has_status=True,
    has_generation=True,
    categories=("all",),
    fields=_POD_FIELDS,
)
PRIORITY_CLASS = Kind(
    "PriorityClass",
    "priorityclasses",
    models.PriorityClass,
    group="scheduling.k8s.io",
    namespaced=False,
    short_names=("pc",),
    has_generation=True,
)
EVENT = Kind("Event", "events", models.Event, short_names=("ev",), fields=_EVENT_FIELDS)

ALL: tuple[Kind, ...] = (
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    Kind(
        "RuntimeClass",
        "runtimeclasses",
        models.RuntimeClass,
        group="node.k8s.io",
        namespaced=False,
    ),
    Kind(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        models.PodDisruptionBudget,
        group="policy",
        short_names=("pdb",),
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "ResourceQuota",
        "resourcequotas",
        models.ResourceQuota,
        short_names=("quota",),
        has_status=True,
    ),
    Kind(
        "PersistentVolume",
        "persistentvolumes",
        models.PersistentVolume,
        namespaced=False,
        short_names=("pv",),
        has_status=True,
    ),
    Kind(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        models.PersistentVolumeClaim,
        short_names=("pvc",),
        has_status=True,
    ),
    Kind(
        "StorageClass",
        "storageclasses",
        models.StorageClass,
        group=_STORAGE,
        namespaced=False,
        short_names=("sc",),
    ),
    Kind("CSINode", "csinodes", models.CSINode, group=_STORAGE, namespaced=False),
    Kind("CSIDriver", "csidrivers", models.CSIDriver, group=_STORAGE, namespaced=False),
    Kind(
        "CSIStorageCapacity",
        "csistoragecapacities",
        models.CSIStorageCapacity,
        group=_STORAGE,
    ),
    Kind(
        "VolumeAttachment",
        "volumeattachments",
        models.VolumeAttachment,
        group=_STORAGE,
        namespaced=False,
        has_status=True,
    ),
    Kind(
        "Service",
        "services",
        models.Service,
        short_names=("svc",),
        has_status=True,
        categories=("all",),
        fields=("spec.clusterIP", "spec.type"),
    ),
    Kind(
        "ReplicationController",
        "replicationcontrollers",
        models.ReplicationController,
        short_names=("rc",),
        has_status=True,
        has_generation=True,
        categories=("all",),
        fields=("status.replicas",),
    ),
    Kind(
        "ReplicaSet",
        "replicasets",
        models.ReplicaSet,
        group="apps",
        short_names=("rs",),
        has_status=True,
        has_generation=True,
        categories=("all",),
        fields=("status.replicas",),
    ),
    Kind(
        "StatefulSet",
        "statefulsets",
        models.StatefulSet,
        group="apps",
        short_names=("sts",),
        has_status=True,
        has_generation=True,
        categories=("all",),
    ),
    Kind(
        "Deployment",
        "deployments",
        models.Deployment,
        group="apps",
        short_names=("deploy",),
        has_status=True,
        has_generation=True,
        categories=("all",),
    ),
    Kind(
        "DaemonSet",
        "daemonsets",
        models.DaemonSet,
        group="apps",
        short_names=("ds",),
        has_status=True,
        has_generation=True,
        categories=("all",),
    ),
    Kind(
        "Job",
        "jobs",
        models.Job,
        group="batch",
        has_status=True,
        has_generation=True,
        categories=("all",),
        fields=("status.successful",),
    ),
    EVENT,
    Kind("Lease", "leases", models.Lease, group="coordination.k8s.io"),
    *(Kind(model=models.DataObject, **row) for row in ROWS),
)

_BY_NAME = {kind.name: kind for kind in ALL}


def by_key(key: str) -> Kind:
    """The kind with a `key`, also one of a CustomResourceDefinition: its group and plural."""
    found = _BY_NAME.get(key)
    if found is not None:
        return found
    plural, _, group = key.partition(".")
    return Kind(plural, plural, models.DataObject, group=group, definition_name=key)


def by_name(name: str) -> Kind:
    """The kind called `name` ("Pod"); KeyError if there is none."""
    return _BY_NAME[name]


def by_api_version(api_version: str, name: str) -> Kind:
    """The kind a manifest's apiVersion and kind name; KeyError if there is none."""
    kind = _BY_NAME[name]
    if kind.api_version != api_version:
        raise KeyError(f"{api_version} {name}")
    return kind
