"""The policies and webhooks of a cluster, and the objects that parameterize policies.

They are read once for each `admission_version` of a cluster, which every change of one raises.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.db import connection

from apps.cluster import kinds, queries, sql
from apps.cluster.admission.dynamic import SOURCES, DynamicAdmission, World, assemble
from apps.cluster.admission.policies.matching import parse_selector
from apps.cluster.admission.policies.requests import Review
from apps.cluster.custom.conversion import from_stored
from apps.cluster.custom.versions import all_versions
from apps.cluster.errors import InternalError, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.models import Cluster
from apps.cluster.queries import Selection
from apps.cluster.schema import ShapeError, decode, definition_of
from apps.cluster.writing.lookups import StoreLookups
from apps.cluster.writing.webhook_calls import webhooks_of

Body = dict[str, Any]

_CLUSTERS_KEPT: Final = 200
_known: Final[OrderedDict[int, tuple[tuple[int, bool], DynamicAdmission]]] = OrderedDict()
_lock: Final = threading.Lock()

#: Denies every change of a shadow but those of what follows the other cluster, which are not asked.
_READ_ONLY: Final = {
    "ValidatingAdmissionPolicy": {
        "metadata": {"name": "read-only"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "operations": ["*"],
                        "resources": ["*/*"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "false",
                    "message": "this cluster follows another one, and cannot be changed here",
                }
            ],
        },
    },
    "ValidatingAdmissionPolicyBinding": {
        "metadata": {"name": "read-only"},
        "spec": {"policyName": "read-only", "validationActions": ["Deny"]},
    },
}


def dynamic_admission_of(cluster: Cluster) -> DynamicAdmission:
    """The policies and webhooks, as of the cluster's `admission_version` or later."""
    known, state = _known.get(cluster.pk), (cluster.admission_version, cluster.is_shadow)
    if known is not None and known[0] == state:
        return known[1]
    admission = _read(cluster)
    with _lock:
        _known[cluster.pk] = (state, admission)
        _known.move_to_end(cluster.pk)
        while len(_known) > _CLUSTERS_KEPT:
            _known.popitem(last=False)
    return admission


def _read(cluster: Cluster) -> DynamicAdmission:
    by_kind: dict[str, list[Body]] = {kind: [] for kind in SOURCES}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, body::text FROM cluster_dataobject "
            'WHERE cluster_id = %s AND kind = ANY(%s) ORDER BY name COLLATE "C"',
            [cluster.pk, list(by_kind)],
        )
        for kind, text in cursor.fetchall():
            by_kind[kind].append(sql.load_json(text))
    for kind, rule in _READ_ONLY.items() if cluster.is_shadow else ():
        by_kind[kind].append(rule)
    return assemble(by_kind)


def world_of(cluster: Cluster, lookups: Lookups | None = None) -> World:
    """What the policies and webhooks of a cluster reach."""
    return World(lookups or StoreLookups(cluster), StoreParams(cluster), webhooks_of(cluster))


def admit_part(cluster: Cluster, request: Review) -> Body:
    """The object of a subresource, which is not stored, after policies and webhooks.

    Raises the error with which one denies the request; warnings are noted.
    """
    assert request.object is not None
    dynamic = dynamic_admission_of(cluster)
    if not dynamic:
        return dict(request.object)
    world = world_of(cluster)
    changed = dynamic.mutate(request, world, lambda body: _decode_part(request, body))
    request = replace(request, object=changed)
    dynamic.validate(request, world)
    return dict(changed or {})


def _decode_part(request: Review, body: Body) -> Body:
    group, _, version = request.shape[0].rpartition("/")
    try:
        return decode(definition_of(group, version, request.shape[1]), body).body
    except ShapeError as error:
        raise InternalError(error.message) from error


class StoreParams:
    """Parameters in the database."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def kind(self, api_version: str, name: str) -> Kind | None:
        """The kind of the parameters; None if the cluster does not serve it."""
        try:
            return kinds.by_api_version(api_version, name)
        except KeyError:
            pass
        for each in all_versions(self._cluster):
            if (each.kind.api_version, each.kind.name) == (api_version, name):
                return each.kind
        return None

    def objects(
        self, kind: Kind, namespace: str, name: str, selector: Mapping[str, Any] | None
    ) -> Sequence[Body]:
        """The object of this name, or those that the selector selects."""
        if name:
            try:
                bodies = [queries.get(self._cluster, kind, namespace, name)]
            except NotFound:
                return []
        else:
            labels = str(parse_selector(selector or {}))
            selection = Selection(namespace=namespace if kind.namespaced else None, labels=labels)
            bodies = queries.list_objects(self._cluster, kind, selection).items
        return from_stored(kind, bodies, webhooks_of(self._cluster))
