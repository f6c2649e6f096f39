"""Changing the settings of a cluster that exists; `apps.cluster.settings` declares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from django.core.exceptions import ValidationError

from apps.cluster.admission.plugins.registry import check_plugins
from apps.cluster.errors import BadRequest, Cause, Invalid
from apps.cluster.models import Cluster
from apps.cluster.settings import CHANGEABLE
from apps.controlplane.workers.waking import make_due


def change_settings(cluster: Cluster, changes: Mapping[str, Any]) -> None:
    """Change settings by name; a loop at work follows them from its next look at the log on.

    Controllers, or mock kubelets, that are switched on again look at everything that happened
    meanwhile. Raises Invalid naming each wrong value, or BadRequest as `check_changeable` does;
    nothing is changed then.
    """
    check_changeable(changes)
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


def check_changeable(names: Iterable[str]) -> None:
    """Raise BadRequest for a name that is not one of CHANGEABLE."""
    known = [each.name for each in CHANGEABLE]
    for name in sorted(names):
        if name not in known:
            raise BadRequest(
                f"{name}: not a setting that can be changed; these can: {', '.join(known)}"
            )


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
