"""The resources that the API serves, for each kind in the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from apps.api.kubernetes import autoscaling, events
from apps.api.kubernetes.protobuf import envelopes
from apps.cluster import kinds, models
from apps.cluster.access.default_policy import GROUPS
from apps.cluster.custom.versions import CustomVersion, priority_of
from apps.cluster.errors import qualified
from apps.cluster.kind import STATUS_VERBS, VERBS, Kind, Subresource
from apps.cluster.schema import definition_of
from apps.cluster.tables.cluster import COMPONENT_STATUSES as COLUMNS_OF_COMPONENTS

Body = dict[str, Any]

_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"


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
        return self.to_wire is _unchanged and not self.kind.is_stored_otherwise

    @property
    def has_defaults(self) -> bool:
        """Whether a cluster has objects of it that are created before the first request."""
        return self.group in GROUPS

    @property
    def is_row(self) -> bool:
        """Whether every object has a row, and is sent as the row has it."""
        return self.reads_rows and not self.has_defaults

    @property
    def singular(self) -> str:
        return self.custom.singular if self.custom is not None else self.kind.name.lower()

    @property
    def deprecation(self) -> str:
        """The warning of a deprecated kind or version; "" for others."""
        return self.custom.deprecation if self.custom is not None else self.kind.deprecation

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


def _resource(kind: Kind) -> Resource:
    status = (Subresource("status", kind.name, STATUS_VERBS),) if kind.has_status else ()
    return Resource(
        kind,
        kind.group,
        kind.version,
        subresources=(*kind.subresources, *status),
        verbs=tuple(v for v in VERBS if kind is not kinds.NAMESPACE or v != "deletecollection"),
        reads_rows=kind.name != "Lease",
    )


_NEW_EVENTS = Resource(
    kinds.EVENT,
    "events.k8s.io",
    "v1",
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
        deprecation="v1 ComponentStatus is deprecated in v1.19+",
        columns=COLUMNS_OF_COMPONENTS,
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
    matches = [r for r in (*SERVED, *custom) if (r.group, r.version) == (group, version)]
    return sorted(matches, key=lambda resource: resource.plural)
