"""Discovery: /version, /api, /apis and their resource lists."""

from __future__ import annotations

import base64
import hashlib
import platform
from functools import lru_cache
from typing import Any

from apps.api.kubernetes import resources
from apps.api.kubernetes.errors import NoPage, UnknownPath
from apps.api.kubernetes.resources import Resource
from apps.cluster.custom.versions import priority_of
from apps.cluster.errors import ApiError
from apps.cluster.kind import Subresource

Body = dict[str, Any]

#: The custom resources of a cluster.
Custom = tuple[Resource, ...]

#: Clusters with different custom resources have different documents.
_cached = lru_cache(maxsize=256)
#: Groups whose paths the API server answers itself, also those that do not exist.
_BUILT_IN = frozenset(group for group, _ in resources.GROUP_VERSIONS if group)
#: A name that several groups have means, for kubectl, the kind of the first one.
_ORDER = (
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)
#: The groups of other servers than the API server come last.
_AGGREGATED = ("metrics.k8s.io",)
_HASH_BYTES = 8
_BINDINGS = Subresource("bindings", "Binding", ("create",))


def version() -> Body:
    """The supported Kubernetes release; clients reject a response with missing fields."""
    return {
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.2+schedweb",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-06-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


def core_versions(host: str) -> Body:
    """The response of /api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}],
    }


@_cached
def groups(custom: Custom = ()) -> Body:
    """The response of /apis."""
    named = [_group(group, custom) for group in _group_names(custom) if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}


def group(name: str, custom: Custom = ()) -> Body | None:
    """The response of /apis/{group}; None if it is not served."""
    if not name or name not in _group_names(custom):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, custom)}


@_cached
def resource_list(group: str, version: str, custom: Custom = ()) -> Body | None:
    """The response of /api/v1 and /apis/{group}/{version}; None if it is not served."""
    served = resources.in_group_version(group, version, custom)
    if not served:
        return None
    rows = [row for resource in served for row in _rows(resource)]
    if not group:
        rows.append(
            {
                "name": "bindings",
                "singularName": "binding",
                "namespaced": True,
                "kind": "Binding",
                "verbs": ["create"],
            }
        )
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": sorted(rows, key=lambda row: row["name"]),
    }


@_cached
def aggregated(core: bool, version: str, custom: Custom = ()) -> Body:
    """The response of /api (core) or /apis in the aggregated form of `version` (v2, v2beta1)."""
    names = [name for name in _group_names(custom) if (name == "") == core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(name, custom) for name in names],
    }


def unknown_path(path: str) -> ApiError:
    """The error of a path that is not served: a group of the API describes it, no other path."""
    first, _, rest = path.partition("/")
    served = first == "api" or (first == "apis" and rest.partition("/")[0] in _BUILT_IN)
    return UnknownPath() if served else NoPage()


def _group_names(custom: Custom) -> list[str]:
    """The groups in the order of the API server, those of custom resources by name."""
    groups = {group for group, _ in group_versions(custom)}
    last = [group for group in _AGGREGATED if group in groups]
    first = [group for group in _ORDER if group in groups]
    return [*first, *sorted(groups.difference(first, last)), *last]


def group_versions(custom: Custom = ()) -> list[tuple[str, str]]:
    """Every (group, version), with those of custom resources; the preferred one first."""
    added = {(r.group, r.version) for r in custom} - set(resources.GROUP_VERSIONS)
    newest = sorted(added, key=lambda each: (each[0], priority_of(each[1])))
    return [*resources.GROUP_VERSIONS, *newest]


def _group(name: str, custom: Custom) -> Body:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for group, version in group_versions(custom)
        if group == name
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _rows(resource: Resource) -> list[Body]:
    row: Body = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind.name,
        "verbs": list(resource.verbs),
    }
    row |= _short(resource)
    if resource in resources.ALL or resource.custom is not None:
        row["storageVersionHash"] = _storage_version_hash(resource)
    return [row, *(_subresource_row(resource, sub) for sub in resource.subresources)]


def _storage_version_hash(resource: Resource) -> str:
    """As the API server computes it, from the group, version and kind in which it stores."""
    kind = resource.kind
    stored = f"{kind.api_version}/{kind.name}" if kind.group else f"/{kind.api_version}/{kind.name}"
    return base64.b64encode(hashlib.sha256(stored.encode()).digest()[:_HASH_BYTES]).decode()


def _short(resource: Resource) -> Body:
    named: Body = {}
    if resource.kind.short_names:
        named["shortNames"] = list(resource.kind.short_names)
    if resource.kind.categories:
        named["categories"] = list(resource.kind.categories)
    return named


def _subresource_row(resource: Resource, sub: Subresource) -> Body:
    return {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **({"group": sub.group, "version": sub.version} if sub.group else {}),
        "kind": sub.kind,
        "verbs": list(sub.verbs),
    }


def _aggregated_group(name: str, custom: Custom) -> Body:
    versions = [
        {
            "version": version,
            "resources": _aggregated_resources(group, version, custom),
            "freshness": "Current",
        }
        for group, version in group_versions(custom)
        if group == name
    ]
    return {"metadata": {"name": name} if name else {}, "versions": versions}


def _aggregated_resources(group: str, version: str, custom: Custom) -> list[Body]:
    listed = [
        _aggregated_resource(resource)
        for resource in resources.in_group_version(group, version, custom)
    ]
    if not group:
        listed.append(
            {
                "resource": "bindings",
                "responseKind": _response_kind(_BINDINGS),
                "scope": "Namespaced",
                "singularResource": "binding",
                "verbs": ["create"],
            }
        )
    return sorted(listed, key=lambda row: row["resource"])


def _aggregated_resource(resource: Resource) -> Body:
    row: Body = {
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind.name},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_short(resource),
    }
    if resource.subresources:
        row["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(sub),
                "verbs": list(sub.verbs),
            }
            for sub in resource.subresources
        ]
    return row


def _response_kind(sub: Subresource) -> Body:
    return {"group": sub.group, "version": sub.version, "kind": sub.kind}
