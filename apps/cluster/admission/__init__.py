"""What the API server does to an object before it is stored, as functions over plain bodies.

`admit` is the one entry: shape, name, defaults, and what the admission plugins of a Kubernetes 1.36
server change or refuse. It needs no database: it reads other objects of the cluster through a
`Lookups`. It does not alter its arguments unless the body is `decoded`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from apps.cluster.admission.defaulting import set_defaults
from apps.cluster.admission.defaulting.statuses import default_status
from apps.cluster.admission.defaulting.workloads import start_counting_templates
from apps.cluster.admission.draft import Body, definition_of_body, draft_of, write_empty
from apps.cluster.admission.gated_fields import drop_gated_fields
from apps.cluster.admission.names import generate_name
from apps.cluster.admission.nodes import taint_not_ready
from apps.cluster.admission.plugins.registry import NO_PLUGINS, EnabledPlugins
from apps.cluster.admission.pod_groups import default_disruption_modes
from apps.cluster.admission.pods import create_pod
from apps.cluster.admission.priority import set_group_priority
from apps.cluster.kind import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.ownership.creation import own_created
from apps.cluster.validation.gates import GROUP_PREEMPTION

__all__ = ["Lookups", "admit", "as_sent"]


def admit(
    kind: Kind,
    body: Mapping[str, Any],
    lookups: Lookups,
    *,
    old: Mapping[str, Any] | None = None,
    subresource: str = "",
    taint_new_nodes: bool = False,
    plugins: EnabledPlugins = NO_PLUGINS,
    decoded: bool = False,
    gates: Collection[str] = (),
    restored: bool = False,
) -> Body:
    """The object to validate and store.

    `body` carries apiVersion and the metadata the server sets. With `old`, the stored object, it is
    an update: defaults are set again, and values that admission has set are kept. New nodes get the
    taint `node.kubernetes.io/not-ready:NoSchedule` if `taint_new_nodes`. `plugins` are the
    additional plugins that the cluster has enabled, `gates` the feature gates of
    `apps.cluster.validation.gates` that are on: fields of others are dropped. A body that is
    `decoded` has the shape of its kind already, and is changed in place. A new object that is
    `restored` keeps the status that it has.

    Raises BadRequest for a body of the wrong shape, Forbidden or Invalid if admission rejects it.
    """
    draft = dict(body) if decoded else draft_of(kind.name, body)
    if old is None:
        _create(kind, draft, lookups, taint_new_nodes, plugins, gates, restored)
    else:
        drop_gated_fields(kind, draft, old, gates)
        if kind.name == "Workload" and GROUP_PREEMPTION in gates:
            default_disruption_modes(draft, old)
        _update(kind, draft, lookups, old, NO_PLUGINS if subresource else plugins)
    return draft


def as_sent(kind: Kind, body: Mapping[str, Any]) -> Body:
    """An update as its client sent it, with defaults only: its client owns what it changes."""
    draft = draft_of(kind.name, {**body, "apiVersion": kind.api_version, "kind": kind.name})
    set_defaults(kind, draft)
    return draft


def _create(
    kind: Kind,
    draft: Body,
    lookups: Lookups,
    taint_new_nodes: bool,
    plugins: EnabledPlugins,
    gates: Collection[str],
    restored: bool,
) -> None:
    generate_name(draft["metadata"])
    if kind.name == "Workload" and GROUP_PREEMPTION in gates:
        default_disruption_modes(draft, None)
    set_defaults(kind, draft)
    own_created(draft, definition_of_body(draft), kind)
    drop_gated_fields(kind, draft, None, gates)
    write_empty(draft)
    if kind.initial_status is not None:
        if not (restored and draft.get("status")):
            draft["status"] = kind.initial_status(draft)
        default_status(kind.name, draft)
    if kind.prepare is not None:
        kind.prepare(draft)
    if kind.name == "Pod":
        create_pod(draft, lookups, plugins)
        return
    plugins.admit(kind.name, draft, lookups)
    if kind.name == "Node" and taint_new_nodes:
        taint_not_ready(draft)
    if kind.name == "PodGroup" and GROUP_PREEMPTION in gates:
        set_group_priority(draft, lookups)
    if kind.name == "DaemonSet":
        start_counting_templates(draft, restored=restored)
    if kind.admit_new is not None:
        kind.admit_new(draft, lookups)


def _update(
    kind: Kind, draft: Body, lookups: Lookups, old: Mapping[str, Any], plugins: EnabledPlugins
) -> None:
    if kind.keep is not None:
        kind.keep(draft, old)
    set_defaults(kind, draft)
    write_empty(draft)
    if kind.prepare is not None:
        kind.prepare(draft)
    if kind.admit_update is not None:
        kind.admit_update(draft, lookups, old)
    plugins.admit(kind.name, draft, lookups, old)
