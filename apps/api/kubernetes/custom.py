"""The resources that only some clusters serve: custom ones, and those of feature gates."""

from __future__ import annotations

from functools import lru_cache

from apps.api.kubernetes import resources
from apps.api.kubernetes.paths import Target, parse
from apps.api.kubernetes.resources import Resource
from apps.cluster.custom.versions import CustomVersion, all_versions, find_version
from apps.cluster.kind import CUSTOM_VERBS, SCALE, STATUS_VERBS, Subresource
from apps.cluster.models import Cluster
from apps.engine.profiles.gates import is_served


def parse_custom(cluster: Cluster, path: str) -> Target | None:
    """The target of a path to a resource that only some clusters have; None if there is none."""

    def find(group: str, version: str, plural: str) -> Resource | None:
        built_in = resources.find(group, version, plural)
        if built_in is not None or "." not in group:
            return built_in
        for gated in resources.GATED:
            if (gated.group, gated.version, gated.plural) == (group, version, plural):
                return gated if is_served(cluster, gated.kind) else None
        custom_version = find_version(cluster.pk, group, version, plural)
        return _resource(custom_version) if custom_version is not None else None

    return parse(path, find)


def resources_of(cluster: Cluster) -> tuple[Resource, ...]:
    """The custom resources that a cluster serves, and those whose feature gate is on."""
    gated = (resource for resource in resources.GATED if is_served(cluster, resource.kind))
    return (*gated, *map(_resource, all_versions(cluster)))


@lru_cache(maxsize=1024)
def _resource(custom: CustomVersion) -> Resource:
    kind = custom.kind
    subresources = (
        *((SCALE,) if custom.scale is not None else ()),
        *((Subresource("status", kind.name, STATUS_VERBS),) if kind.has_status else ()),
    )
    return Resource(kind, kind.group, kind.version, subresources, verbs=CUSTOM_VERBS, custom=custom)
