"""Defaults: every field the API server fills in.

Each function changes the draft in place, and does not change a draft that has its defaults.
"""

from __future__ import annotations

from apps.cluster.admission.defaulting.statuses import default_status
from apps.cluster.admission.draft import Body, drop_empty
from apps.cluster.kind import Kind

__all__ = ["default_metadata", "set_defaults"]


def set_defaults(kind: Kind, draft: Body) -> None:
    """Set the defaults of an object of `kind`."""
    default_metadata(draft["metadata"])
    if kind.default is not None:
        kind.default(draft)
    default_status(kind.name, draft)


def default_metadata(metadata: Body) -> None:
    """The same for the metadata of any kind."""
    drop_empty(
        metadata,
        "generateName",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    )
