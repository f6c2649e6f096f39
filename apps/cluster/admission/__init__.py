"""What the API server does to an object before it is stored, as functions over plain bodies.

`admit` is the one entry: shape, name, defaults, and what the admission plugins of a Kubernetes 1.36
server change or refuse. It needs no database: it reads other objects of the cluster through a
`Lookups`. It does not alter its arguments unless the body is `decoded`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from apps.cluster.admission import certificates
from apps.cluster.admission.admin_access import check_admin_access
from apps.cluster.admission.custom_definitions import established_status
from apps.cluster.admission.defaulting import set_defaults
from apps.cluster.admission.defaulting.services import (
    default_address,
    drop_fields_of_type,
    keep_allocated,
)
from apps.cluster.admission.draft import Body, child, definition_of_body, draft_of
from apps.cluster.admission.gated_fields import drop_gated_fields
from apps.cluster.admission.limit_ranges import limit_claim
from apps.cluster.admission.lookups import Lookups
from apps.cluster.admission.names import generate_name
from apps.cluster.admission.nodes import taint_not_ready
from apps.cluster.admission.plugins.registry import NO_PLUGINS, Chain
from apps.cluster.admission.pod_groups import admit_pod_group, default_disruption_modes
from apps.cluster.admission.pods import create_pod, update_pod
from apps.cluster.admission.priority import check_default_class, set_group_priority
from apps.cluster.admission.statuses import set_initial_status
from apps.cluster.admission.storage import (
    add_protection_finalizer,
    set_default_storage_class,
)
from apps.cluster.ownership.creation import own_created
from apps.cluster.validation.gates import GROUP_PREEMPTION

__all__ = ["Lookups", "admit"]


def admit(
    kind: str,
    body: Mapping[str, Any],
    lookups: Lookups,
    *,
    old: Mapping[str, Any] | None = None,
    subresource: str = "",
    taint_new_nodes: bool = False,
    plugins: Chain = NO_PLUGINS,
    decoded: bool = False,
    gates: Collection[str] = (),
) -> Body:
    """The object to validate and store.

    `body` carries apiVersion and the metadata the server sets. With `old`, the stored object, it is
    an update: defaults are set again, and values that admission has set are kept. New nodes get the
    taint `node.kubernetes.io/not-ready:NoSchedule` if `taint_new_nodes`. `plugins` are the
    additional plugins that the cluster has enabled, `gates` the feature gates of
    `apps.cluster.validation.gates` that are on: fields of others are dropped. A body that is
    `decoded` has the shape of its kind already, and is changed in place.

    Raises BadRequest for a body of the wrong shape, Forbidden or Invalid if admission rejects it.
    """
    draft = dict(body) if decoded else draft_of(kind, body)
    drop_gated_fields(kind, draft, old, gates)
    if GROUP_PREEMPTION in gates:
        default_disruption_modes(kind, draft, old)
    if old is None:
        _create(kind, draft, lookups, taint_new_nodes, plugins, gates)
    else:
        _update(kind, draft, lookups, old, NO_PLUGINS if subresource else plugins)
    return draft


def _create(
    kind: str,
    draft: Body,
    lookups: Lookups,
    taint_new_nodes: bool,
    plugins: Chain,
    gates: Collection[str],
) -> None:
    generate_name(draft["metadata"])
    set_defaults(kind, draft)
    own_created(draft, definition_of_body(draft), has_status=True)
    set_initial_status(kind, draft)
    _prepare(kind, draft)
    if kind == "CustomResourceDefinition":
        draft["status"] = established_status(draft)
    if kind == "Pod":
        create_pod(draft, lookups, plugins)
        return
    plugins.admit(kind, draft, lookups)
    if kind == "Node" and taint_new_nodes:
        taint_not_ready(draft)
    if kind == "PodGroup" and GROUP_PREEMPTION in gates:
        set_group_priority(draft, lookups)
    review = _ON_CREATE.get(kind)
    if review is not None:
        review(draft, lookups)


def _update(
    kind: str, draft: Body, lookups: Lookups, old: Mapping[str, Any], plugins: Chain
) -> None:
    if kind == certificates.KIND:
        draft["spec"] = old["spec"]
    if kind == "Service":
        drop_fields_of_type(draft, old)
        keep_allocated(draft, old)
    set_defaults(kind, draft)
    _prepare(kind, draft)
    if kind == "Pod":
        update_pod(draft, old)
    elif kind == "CustomResourceDefinition":
        draft["status"] = established_status(draft)
    elif kind == "PriorityClass":
        check_default_class(draft, lookups)
    plugins.admit(kind, draft, lookups, old)


def _prepare(kind: str, draft: Body) -> None:
    """What the server sets beside the defaults, which no client owns."""
    if kind == "Service":
        default_address(draft)
    elif kind == "Namespace":
        child(draft, "spec").setdefault("finalizers", ["kubernetes"])


def _admit_claim(claim: Body, lookups: Lookups) -> None:
    limit_claim(claim, lookups)
    set_default_storage_class(claim, lookups)


_ON_CREATE: Final[dict[str, Callable[[Body, Lookups], None]]] = {
    "PriorityClass": check_default_class,
    "PersistentVolume": add_protection_finalizer("kubernetes.io/pv-protection"),
    "PersistentVolumeClaim": _admit_claim,
    "PodGroup": admit_pod_group,
    "ResourceClaim": check_admin_access,
    "ResourceClaimTemplate": check_admin_access,
}
