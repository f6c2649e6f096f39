"""The resources that the API serves, for each kind in the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from apps.api.kubernetes import autoscaling, events
from apps.api.kubernetes.protobuf import envelopes
from apps.cluster import kinds, models
from apps.cluster.custom.versions import CustomVersion, priority_of
from apps.cluster.errors import qualified
from apps.cluster.kinds import Kind
from apps.cluster.schema import definition_of

Body = dict[str, Any]

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")
_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object; group, version and kind of the object that it reads and writes."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


def _unchanged(body: Body) -> Body:
    return body


@dataclass(frozen=True)
class Resource:
    """A kind as served by one group and version."""

    kind: Kind
    group: str
    version: str
    subresources: tuple[Subresource, ...] = ()
    verbs: tuple[str, ...] = VERBS
    #: A question that is posted and answered, but not stored: it has no model of its own.
    is_review: bool = False
    #: Whether an object is read as its row; False: the answer is computed, or completed.
    reads_rows: bool = True
    #: Deletion returns the object instead of a Status.
    returns_deleted: bool = False
    #: A PUT of a missing object creates it.
    creates_on_update: bool = False
    #: Converts from the stored form to that of this group and version, and back.
    to_wire: Callable[[Body], Body] = field(default=_unchanged)
    from_wire: Callable[[Body], Body] = field(default=_unchanged)
    #: Of a custom resource: its version's names, and the paths of `scale`.
    custom: CustomVersion | None = None

    @property
    def plural(self) -> str:
        return self.kind.plural

    @property
    def namespaced(self) -> bool:
        return self.kind.namespaced

    @property
    def as_stored(self) -> bool:
        """Whether the stored form is the served form."""
        return self.to_wire is _unchanged

    @property
    def singular(self) -> str:
        return self.custom.singular if self.custom is not None else self.kind.name.lower()

    @property
    def deprecation(self) -> str:
        """The warning of a deprecated version; "" for others."""
        return self.custom.deprecation if self.custom is not None else ""

    @property
    def list_kind(self) -> str:
        return self.custom.list_kind if self.custom is not None else f"{self.kind.name}List"

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def has_message(self) -> bool:
        """Whether its objects can be sent as protobuf."""
        return envelopes.has_message(self.api_version, self.kind.name)

    @property
    def qualified_plural(self) -> str:
        return qualified(self.plural, self.group)

    @cached_property
    def definition(self) -> str:
        """The name of its OpenAPI definition."""
        return self.kind.schema_name or definition_of(self.group, self.version, self.kind.name)

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


_CONNECT_VERBS = ("create", "get")
_PROXY_VERBS = ("create", "delete", "get", "patch", "update")
SCALE = Subresource("scale", "Scale", STATUS_VERBS, "autoscaling", "v1")
_EXTRA: dict[str, tuple[Subresource, ...]] = {
    "CertificateSigningRequest": (
        Subresource("approval", "CertificateSigningRequest", STATUS_VERBS),
    ),
    "Deployment": (SCALE,),
    "Namespace": (Subresource("finalize", "Namespace", ("update",)),),
    "Node": (Subresource("proxy", "NodeProxyOptions", _PROXY_VERBS),),
    "Pod": (
        Subresource("attach", "PodAttachOptions", _CONNECT_VERBS),
        Subresource("binding", "Binding", ("create",)),
        Subresource("ephemeralcontainers", "Pod", STATUS_VERBS),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("exec", "PodExecOptions", _CONNECT_VERBS),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward", "PodPortForwardOptions", _CONNECT_VERBS),
        Subresource("proxy", "PodProxyOptions", _PROXY_VERBS),
        Subresource("resize", "Pod", STATUS_VERBS),
    ),
    "ReplicaSet": (SCALE,),
    "ReplicationController": (SCALE,),
    "Service": (Subresource("proxy", "ServiceProxyOptions", _PROXY_VERBS),),
    "ServiceAccount": (Subresource("token", "TokenRequest", ("create",), _AUTHENTICATION, "v1"),),
    "StatefulSet": (SCALE,),
}
_RETURNS_DELETED = {
    "CSIDriver",
    "CSINode",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "Service",
    "StorageClass",
    "VolumeAttachment",
}
_CREATES_ON_UPDATE = {"Event", "Lease", "RuntimeClass", "Service"}


def _resource(kind: Kind) -> Resource:
    status = (Subresource("status", kind.name, STATUS_VERBS),) if kind.has_status else ()
    return Resource(
        kind,
        kind.group,
        kind.version,
        subresources=(*_EXTRA.get(kind.name, ()), *status),
        verbs=tuple(v for v in VERBS if kind is not kinds.NAMESPACE or v != "deletecollection"),
        returns_deleted=kind.returns_deleted or kind.name in _RETURNS_DELETED,
        creates_on_update=kind.creates_on_update or kind.name in _CREATES_ON_UPDATE,
        reads_rows=kind.name != "Lease",
    )


_NEW_EVENTS = Resource(
    kinds.EVENT,
    "events.k8s.io",
    "v1",
    creates_on_update=True,
    to_wire=events.to_events_v1,
    from_wire=events.to_core_v1,
)

_OLD_AUTOSCALERS = replace(
    _resource(kinds.by_name("HorizontalPodAutoscaler")),
    version="v1",
    to_wire=autoscaling.to_v1,
    from_wire=autoscaling.from_v1,
)

#: The stored resources that every cluster serves.
ALL: tuple[Resource, ...] = (
    *(_resource(kind) for kind in kinds.ALL if not kind.feature_gate),
    _NEW_EVENTS,
    _OLD_AUTOSCALERS,
)
#: Those that a cluster serves whose configuration turns on their feature gate.
GATED: tuple[Resource, ...] = tuple(_resource(kind) for kind in kinds.ALL if kind.feature_gate)


def _review(group: str, name: str, *, namespaced: bool = False) -> Resource:
    kind = Kind(
        name,
        f"{name.lower()}s",
        models.KubernetesObject,  # type: ignore[type-abstract]
        group=group,
        namespaced=namespaced,
    )
    return Resource(kind, group, "v1", verbs=("create",), is_review=True)


#: The questions about users and access.
REVIEWS: tuple[Resource, ...] = (
    _review(_AUTHENTICATION, "SelfSubjectReview"),
    _review(_AUTHENTICATION, "TokenReview"),
    _review(_AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
    _review(_AUTHORIZATION, "SelfSubjectAccessReview"),
    _review(_AUTHORIZATION, "SelfSubjectRulesReview"),
    _review(_AUTHORIZATION, "SubjectAccessReview"),
)
#: The health of components, which is computed.
COMPONENT_STATUSES: Resource = Resource(
    Kind(
        "ComponentStatus",
        "componentstatuses",
        models.KubernetesObject,  # type: ignore[type-abstract]
        namespaced=False,
        short_names=("cs",),
    ),
    "",
    "v1",
    verbs=("get", "list"),
    reads_rows=False,
)
#: Every resource that every cluster serves.
SERVED = (*ALL, COMPONENT_STATUSES, *REVIEWS)
_BY_PATH = {(r.group, r.version, r.plural): r for r in SERVED}
#: Every (group, version) in the order discovery lists them: the core group first, and of each
#: group the preferred version.
GROUP_VERSIONS = tuple(
    sorted({(r.group, r.version) for r in SERVED}, key=lambda gv: (gv[0], priority_of(gv[1])))
)


def find(group: str, version: str, plural: str) -> Resource | None:
    """The resource served at a path."""
    return _BY_PATH.get((group, version, plural))


def in_group_version(group: str, version: str, custom: tuple[Resource, ...] = ()) -> list[Resource]:
    """The resources of one group and version by name; empty if it is not served."""
    found = [r for r in (*SERVED, *custom) if (r.group, r.version) == (group, version)]
    return sorted(found, key=lambda resource: resource.plural)
