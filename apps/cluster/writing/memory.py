"""What admission looks up, kept in memory by each process that creates objects.

An `AdmissionState` is read once and used for any number of objects. It may be stale when it is
used: the statement that writes the objects compares `admission_version` and the settings with the
cluster's row, under its lock, and writes nothing where they differ (`group_commit`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec
from django.db import connection, transaction
from django.utils import timezone

from apps.cluster import models, sql
from apps.cluster.admission.dynamic import NO_ADMISSION, DynamicAdmission
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.writing.lookups import StoreLookups, read_limit_ranges
from apps.cluster.writing.policies import dynamic_admission_of

Body = dict[str, Any]


@dataclass(frozen=True)
class AdmissionState:
    """A cluster's settings, and the objects that admission looks up, as of one moment.

    It answers as `apps.cluster.lookups.Lookups`.
    """

    cluster_id: int
    #: `Cluster.admission_version` when the objects were read.
    admission_version: int
    admission_plugins: Mapping[str, Any]
    #: Whether the cluster runs controllers, which untaint new nodes.
    controllers: bool
    paused: bool
    #: The feature gates with which objects are validated.
    api_gates: Sequence[str]
    #: A cluster with quotas, or with a clock that is set by hand, takes the store's own way.
    is_simple: bool
    namespaces: Mapping[str, Body]
    priority_classes: Mapping[str, Body]
    runtime_classes: Mapping[str, Body]
    limit_ranges_of: Mapping[str, Sequence[Body]]
    _default_priority_class: Body | None = field(repr=False)
    _default_storage_class: Body | None = field(repr=False)
    #: Creations that one of them may concern take the store's own way, too.
    dynamic: DynamicAdmission = field(default=NO_ADMISSION, repr=False)
    #: When the reading began, on the monotonic clock: what was committed before is in it.
    begun_at: float = field(default=0.0, repr=False)
    #: Different for every reading.
    identity: object = field(default_factory=object, repr=False)

    @cached_property
    def settings_text(self) -> bytes:
        """The settings with which objects were admitted, as the statement compares them."""
        settings = [self.admission_plugins, self.controllers, self.paused, self.api_gates]
        return msgspec.json.encode(settings)

    def allows(self, kind: Kind) -> bool:
        """Whether objects of a kind can be created with this state alone."""
        return self.is_simple and not (self.dynamic and self.dynamic.may_concern(kind))

    def now(self) -> datetime:
        """The cluster's time."""
        return timezone.now()

    def namespace(self, name: str) -> Body | None:
        return self.namespaces.get(name)

    def priority_class(self, name: str) -> Body | None:
        return self.priority_classes.get(name)

    def runtime_class(self, name: str) -> Body | None:
        return self.runtime_classes.get(name)

    def default_priority_class(self) -> Body | None:
        return self._default_priority_class

    def workload(self, namespace: str, name: str) -> Body | None:
        return None

    def limit_ranges(self, namespace: str) -> Sequence[Body]:
        return self.limit_ranges_of.get(namespace, ())

    def default_storage_class(self) -> Body | None:
        return self._default_storage_class


def read_admission_state(cluster_name: str) -> AdmissionState:
    """The present state of a cluster; raises NotFound where there is none of that name."""
    begun_at = time.monotonic()
    with transaction.atomic():
        # the version first: what changes afterwards makes this state stale, never wrong
        cluster = Cluster.objects.filter(name=cluster_name).first()
        if cluster is None:
            raise NotFound("clusters", cluster_name)
        lookups = StoreLookups(cluster)
        return AdmissionState(
            cluster.pk,
            cluster.admission_version,
            cluster.admission_plugins,
            cluster.controllers,
            cluster.paused,
            cluster.api_gates,
            cluster.quotas == 0 and cluster.manual_time is None,
            _bodies(cluster, models.Namespace),
            _bodies(cluster, models.PriorityClass),
            _bodies(cluster, models.RuntimeClass),
            read_limit_ranges(cluster),
            lookups.default_priority_class(),
            lookups.default_storage_class(),
            dynamic_admission_of(cluster),
            begun_at,
        )


def _bodies(cluster: Cluster, model: type[models.KubernetesObject]) -> dict[str, Body]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT name, body::text FROM {model._meta.db_table} WHERE cluster_id = %s",
            [cluster.pk],
        )
        return {name: sql.load_json(text) for name, text in cursor.fetchall()}
