"""The admission policies of a cluster, and the objects that parameterize them.

Policies are read once for each `admission_version` of a cluster, which every change of one raises.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import connection

from apps.cluster import kinds, queries, sql
from apps.cluster.admission.policies.matching import parse_selector
from apps.cluster.admission.policies.requests import Review
from apps.cluster.admission.policies.reviewing import Policies
from apps.cluster.custom.versions import all_versions
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.models import Cluster
from apps.cluster.queries import Selection
from apps.cluster.writing.lookups import StoreLookups

Body = dict[str, Any]

_POLICY, _BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_CLUSTERS_KEPT: Final = 200
_known: Final[OrderedDict[int, tuple[int, Policies]]] = OrderedDict()
_lock: Final = threading.Lock()


def policies_of(cluster: Cluster) -> Policies:
    """The policies with bindings, as of the cluster's `admission_version` or later."""
    known = _known.get(cluster.pk)
    if known is not None and known[0] == cluster.admission_version:
        return known[1]
    policies = _read(cluster)
    with _lock:
        _known[cluster.pk] = (cluster.admission_version, policies)
        _known.move_to_end(cluster.pk)
        while len(_known) > _CLUSTERS_KEPT:
            _known.popitem(last=False)
    return policies


def _read(cluster: Cluster) -> Policies:
    found: dict[str, list[Body]] = {_POLICY: [], _BINDING: []}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, body::text FROM cluster_dataobject "
            "WHERE cluster_id = %s AND kind = ANY(%s) ORDER BY name",
            [cluster.pk, list(found)],
        )
        for kind, text in cursor.fetchall():
            found[kind].append(sql.load_json(text))
    return Policies(found[_POLICY], found[_BINDING])


def review(cluster: Cluster, request: Review, lookups: Lookups | None = None) -> None:
    """Raise the error with which a policy denies a request; warnings are noted."""
    policies = policies_of(cluster)
    if policies:
        policies.review(request, lookups or StoreLookups(cluster), StoreParams(cluster))


class StoreParams:
    """Parameters in the database."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def kind(self, api_version: str, name: str) -> Kind | None:
        """The kind of the parameters; None if the cluster does not serve it."""
        try:
            return kinds.by_api_version(api_version, name)
        except KeyError:
            group, _, version = api_version.rpartition("/")
        for each in all_versions(self._cluster):
            if (each.kind.group, each.version, each.kind.name) == (group, version, name):
                return each.kind
        return None

    def objects(
        self, kind: Kind, namespace: str, name: str, selector: Mapping[str, Any] | None
    ) -> Sequence[Body]:
        """The object of this name, or those that the selector selects."""
        if name:
            try:
                return [queries.get(self._cluster, kind, namespace, name)]
            except NotFound:
                return []
        labels = str(parse_selector(selector or {}))
        selection = Selection(namespace=namespace if kind.namespaced else None, labels=labels)
        return queries.list_objects(self._cluster, kind, selection).items
