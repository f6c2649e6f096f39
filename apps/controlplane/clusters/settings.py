"""Settings of a cluster that can be changed while it exists."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from django.core.exceptions import ValidationError

from apps.cluster.admission.plugins.registry import check_plugins
from apps.cluster.errors import Cause, Invalid
from apps.cluster.models import Cluster
from apps.controlplane.workers.waking import make_due

#: What can be changed of a cluster that is there; it takes effect in a running loop.
SETTINGS = (
    "controllers",
    "kubelet",
    "pod_max_in_unschedulable_pods_seconds",
    "event_ttl_seconds",
    "admission_plugins",
    "ledger_max_days",
    "ledger_max_decisions",
    "changelog_max_days",
    "changelog_covers_ledger",
)


def change_settings(cluster: Cluster, changes: Mapping[str, Any]) -> None:
    """Change some of SETTINGS; a loop at work goes by them from its next look on.

    Controllers, or mock kubelets, that are switched on again look at everything that happened
    meanwhile. Raises Invalid naming what is wrong, and changes nothing then.
    """
    assert changes.keys() <= set(SETTINGS)
    if not changes:
        return
    wanted = copy(cluster)
    for name, value in changes.items():
        setattr(wanted, name, value)
    if causes := faults(wanted):
        raise Invalid("Cluster", cluster.name, causes)
    Cluster.objects.filter(pk=cluster.pk).update(**changes)
    for name, value in changes.items():
        setattr(cluster, name, value)
    make_due(cluster.pk)


def _absent(cluster: Cluster) -> list[str]:
    return [f.name for f in cluster._meta.fields if f.null and getattr(cluster, f.attname) is None]


def faults(cluster: Cluster) -> list[Cause]:
    """What the model's own validators say of each field, and the plugins of their parameters."""
    causes = list(check_plugins(cluster.admission_plugins))
    try:
        cluster.clean_fields(exclude=_absent(cluster))
    except ValidationError as error:
        causes += [
            Cause("FieldValueInvalid", text, field)
            for field, texts in error.message_dict.items()
            for text in texts
        ]
    return causes
