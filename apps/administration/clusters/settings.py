"""Changes of the settings of an existing cluster; `apps.cluster.settings` declares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.cluster.admission.plugins.registry import check_plugins
from apps.cluster.errors import BadRequest, Cause, Invalid
from apps.cluster.models import Cluster
from apps.cluster.settings import CHANGEABLE, SHADOW_SETTINGS
from apps.engine.workers.waking import make_due
from apps.people.audit.recording import record
from apps.people.models import AuditEntry


def change_settings(cluster: Cluster, changes: Mapping[str, Any]) -> None:
    """Change settings by name; a running loop uses them from its next read of the log.

    Controllers, or mock kubelets, that are switched on again process all changes made in the
    meantime. Raises Invalid, which names each invalid value, or BadRequest as `check_changeable`
    does; nothing is changed then.
    """
    check_changeable(changes)
    if not changes:
        return
    updated = copy(cluster)
    for name, value in changes.items():
        setattr(updated, name, value)
    if causes := find_faults(updated):
        raise Invalid("Cluster", cluster.name, causes)
    with transaction.atomic():
        Cluster.objects.filter(pk=cluster.pk).update(**changes)
        record(
            AuditEntry.Action.SETTINGS_CHANGED,
            cluster=cluster.name,
            target=", ".join(sorted(changes)),
            details={name: [getattr(cluster, name), value] for name, value in changes.items()},
        )
    for name, value in changes.items():
        setattr(cluster, name, value)
    make_due(cluster.pk)


def check_changeable(names: Iterable[str]) -> None:
    """Raise BadRequest for a name that is not one of CHANGEABLE."""
    known = [each.name for each in CHANGEABLE]
    for name in sorted(names):
        if name not in known:
            raise BadRequest(
                f"{name}: not a setting that can be changed; those are: {', '.join(known)}"
            )


def _list_null_fields(cluster: Cluster) -> list[str]:
    return [f.name for f in cluster._meta.fields if f.null and getattr(cluster, f.attname) is None]


def find_faults(cluster: Cluster) -> list[Cause]:
    """The invalid fields by the model's validators, and invalid parameters of admission plugins."""
    causes = [
        *check_plugins(cluster.admission_plugins),
        *(
            Cause("FieldValueInvalid", f"must be {value} while it follows another cluster", name)
            for name, value in (SHADOW_SETTINGS if cluster.is_shadow else {}).items()
            if getattr(cluster, name) != value
        ),
    ]
    try:
        cluster.clean_fields(exclude=_list_null_fields(cluster))
    except ValidationError as error:
        causes += [
            Cause("FieldValueInvalid", text, field)
            for field, texts in error.message_dict.items()
            for text in texts
        ]
    return causes
