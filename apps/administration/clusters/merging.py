"""Two edits of one object that began at the same version, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster.field_differences import FieldDifference, differences
from apps.cluster.log.changelog import objects_at
from apps.cluster.models import Cluster

Body = dict[str, Any]

_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class MergedEdit:
    """An edited object with what was stored in the meantime."""

    #: the stored object with the edits, at the stored version
    body: Body
    #: what was stored since the version that was edited
    stored: Sequence[FieldDifference]
    #: paths of fields that both changed: the body has the edited values
    both: Sequence[str]


def merge_edit(cluster: Cluster, edited: Body, stored: Body) -> MergedEdit | None:
    """The edits of a past version in the stored one; None if that version is no longer known."""
    version = str((edited.get("metadata") or {}).get("resourceVersion", ""))
    if not (version.isascii() and version.isdecimal() and len(version) <= 18):
        return None
    base = objects_at(cluster.pk, [int(version)]).get(int(version))
    if base is None or base["metadata"]["uid"] != stored["metadata"]["uid"]:
        return None
    both: list[str] = []
    own = edited if "status" in edited else {**edited, "status": base.get("status", {})}
    body = _merge("", _comparable(base), _comparable(own), _comparable(stored), both)
    body["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
    return MergedEdit(body, differences(base, stored), both)


def _comparable(body: Body) -> Body:
    """The object without what every write changes."""
    hidden = ("managedFields", "resourceVersion")
    metadata = {key: value for key, value in body["metadata"].items() if key not in hidden}
    return {**body, "metadata": metadata}


def _merge(path: str, base: Any, edited: Any, stored: Any, both: list[str]) -> Any:
    """The value of three; the edited one where both others differ, which `both` then names."""
    if edited in (base, stored):
        return stored
    if stored == base:
        return edited
    if isinstance(edited, Mapping) and isinstance(stored, Mapping):
        start = base if isinstance(base, Mapping) else {}
        merged: Body = {}
        for key in [*edited, *(key for key in stored if key not in edited)]:
            inner = f"{path}.{key}" if path else str(key)
            one, other, third = (each.get(key, _ABSENT) for each in (start, edited, stored))
            if (value := _merge(inner, one, other, third, both)) is not _ABSENT:
                merged[key] = value
        return merged
    both.append(path)
    return edited
