"""Why a pod waits for its ResourceClaims before it is tried, and what would let it in."""

from __future__ import annotations

from collections.abc import Iterator

from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod


def describe_missing_claims(cluster: Cluster, pod: Pod) -> str:
    """One or more sentences about the claims that keep a pod out of the queue."""
    return " ".join(_describe(cluster, pod)) or "It waits for its ResourceClaims."


def _describe(cluster: Cluster, pod: Pod) -> Iterator[str]:
    status = pod.body.get("status") or {}
    generated = {
        each["name"]: each.get("resourceClaimName", "")
        for each in status.get("resourceClaimStatuses") or ()
    }
    for each in pod.body["spec"].get("resourceClaims") or ():
        template = each.get("resourceClaimTemplateName")
        name = each.get("resourceClaimName") or generated.get(each["name"], "")
        if not name and each["name"] not in generated and template:
            yield _describe_template(cluster, pod, each["name"], template)
        elif name:
            yield from _describe_claim(cluster, pod, name)


def _describe_template(cluster: Cluster, pod: Pod, claim: str, template: str) -> str:
    known = kinds.by_name("ResourceClaimTemplate").objects(cluster)
    if not known.filter(namespace=pod.namespace, name=template).exists():
        return f"It waits for ResourceClaimTemplate {template}, which does not exist."
    return f"It waits until its claim {claim} is created from ResourceClaimTemplate {template}."


def _describe_claim(cluster: Cluster, pod: Pod, name: str) -> Iterator[str]:
    known = kinds.by_name("ResourceClaim").objects(cluster)
    found = known.filter(namespace=pod.namespace, name=name).first()
    if found is None:
        yield f"It waits for ResourceClaim {name}, which does not exist."
    elif found.body["metadata"].get("deletionTimestamp"):
        yield f"ResourceClaim {name} is being deleted: it waits for one of the same name."
