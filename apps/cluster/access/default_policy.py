"""The roles, bindings and APIServices that an API server creates when it starts.

Their content is data, read from a kube-apiserver by `scripts/extract_default_policy.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from apps.cluster.access.policy_rules import aggregate

Body = dict[str, Any]

RBAC: Final = "rbac.authorization.k8s.io"
_REGISTRATION: Final = "apiregistration.k8s.io"
#: The API groups of the default objects.
GROUPS: Final = (RBAC, _REGISTRATION)
#: The role without which a cluster has none of the default objects.
CLUSTER_ADMIN: Final = "cluster-admin"
_FILE: Final = Path(__file__).with_name("default_policy.jsonl")
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_ADDRESS: Final = ("kind", "name", "namespace", "labels")
_REGISTERED: Final = {"kube-aggregator.kubernetes.io/automanaged": "onstart"}


@cache
def default_policy(*, aggregated: bool) -> tuple[Body, ...]:
    """The default objects; `aggregated`: with the rules that controllers fill in."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    policy = [_complete(msgspec.json.decode(line)) for line in lines]
    if not aggregated:
        return tuple(policy)
    roles = {each["metadata"]["name"]: each for each in policy if each["kind"] == "ClusterRole"}
    while missing := aggregate(roles):
        for name, rules in missing.items():
            roles[name]["rules"] = rules
    return tuple(policy)


def _complete(line: Mapping[str, Any]) -> Body:
    """An object as a client would create it."""
    kind, group = line["kind"], RBAC if "spec" not in line else _REGISTRATION
    content = {name: part for name, part in line.items() if name not in _ADDRESS}
    if group == RBAC:
        labels = {**_LABELS, **line.get("labels", {})}
        metadata: Body = {"name": line["name"], "labels": labels, "annotations": _ANNOTATIONS}
    else:
        metadata = {"name": line["name"], "labels": _REGISTERED}
    if "namespace" in line:
        metadata["namespace"] = line["namespace"]
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, **content}
