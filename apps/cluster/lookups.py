"""What admission needs to know of the cluster while it looks at one object."""

from __future__ import annotations

from typing import Any

from apps.cluster import models
from apps.cluster.models import Cluster

Body = dict[str, Any]

_IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"


class StoreLookups:
    """Answers admission's questions from the database, each of them once a write."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, str], Body | None] = {}

    def namespace(self, name: str) -> Body | None:
        """The namespace of this name."""
        return self._named(models.Namespace, name)

    def priority_class(self, name: str) -> Body | None:
        """The priority class of this name."""
        return self._named(models.PriorityClass, name)

    def runtime_class(self, name: str) -> Body | None:
        """The runtime class of this name."""
        return self._named(models.RuntimeClass, name)

    def default_priority_class(self) -> Body | None:
        """The class for pods that name none: of several, the one with the smallest value."""
        key = ("PriorityClass", "")
        if key not in self._known:
            defaults = models.PriorityClass.objects.filter(
                cluster=self._cluster, global_default=True
            )
            self._known[key] = (
                defaults.order_by("value", "name").values_list("body", flat=True).first()
            )
        return self._known[key]

    def default_storage_class(self) -> Body | None:
        """The class for claims that name none: of several, the newest."""
        key = ("StorageClass", "")
        if key not in self._known:
            defaults = models.StorageClass.objects.filter(
                cluster=self._cluster,
                body__metadata__annotations__contains={_IS_DEFAULT: "true"},
            )
            self._known[key] = (
                defaults.order_by("-created_at", "name").values_list("body", flat=True).first()
            )
        return self._known[key]

    def _named(self, model: type[models.KubernetesObject], name: str) -> Body | None:
        key = (model.__name__, name)
        if key not in self._known:
            found = model.objects.filter(cluster=self._cluster, namespace="", name=name)
            self._known[key] = found.values_list("body", flat=True).first()
        return self._known[key]
