"""The deletion of CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apps.cluster.kinds import by_key
from apps.cluster.models import Cluster, DataObject
from apps.cluster.writes import Delete, Update, Write

Body = dict[str, Any]


def deletions(cluster: Cluster, definition: str) -> Iterator[Write]:
    """The writes that delete all objects of a CustomResourceDefinition, finalizers or not."""
    kind = by_key(definition)
    rows = DataObject.objects.filter(cluster=cluster, kind=definition).order_by("pk")
    for namespace, name, finalizers in rows.values_list(
        "namespace", "name", "body__metadata__finalizers"
    ):
        if finalizers:
            yield Update(kind, namespace, name, _without_finalizers, "finalize", trusted=True)
        yield Delete(kind, namespace, name, reviewed=True)


def _without_finalizers(body: Body) -> Body:
    metadata = {name: value for name, value in body["metadata"].items() if name != "finalizers"}
    return {**body, "metadata": metadata}
