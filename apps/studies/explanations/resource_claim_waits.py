"""Why a pod waits for its ResourceClaims before it is tried, and what would let it in."""

from __future__ import annotations

from collections.abc import Iterator

from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.scheduler.objects import decode
from apps.scheduler.plugins.dynamicresources.binding import conditional, has_conditions, is_ready


def describe_missing_claims(cluster: Cluster, pod: Pod) -> str:
    """One or more sentences about the claims that keep a pod out of the queue."""
    return " ".join(_describe(cluster, pod)) or "It waits for its ResourceClaims."


def describe_binding_wait(cluster: Cluster, pod: Pod) -> str:
    """What a pod with a node waits for before it is bound; "" unless it waits for devices."""
    status = pod.body.get("status") or {}
    extended = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
    generated = status.get("resourceClaimStatuses") or ()
    given = pod.body["spec"].get("resourceClaims") or ()
    named = {each.get("resourceClaimName") for each in (*given, *generated)} | {extended}
    if not pod.nominated_node_name or not named - {None}:
        return ""
    known = kinds.by_name("ResourceClaim").objects(cluster)
    for row in known.filter(namespace=pod.namespace, name__in=named - {None}).order_by("name"):
        claim = decode("ResourceClaim", row.body)
        reserved = claim is not None and str(pod.uid) in {
            each.uid for each in claim.status.reserved_for
        }
        if claim is not None and reserved and has_conditions(claim) and not is_ready(claim):
            wanted = sorted(
                {name for each in conditional(claim) for name in each.binding_conditions}
            )
            return (
                f"It has node {pod.nominated_node_name}, and waits until the devices of claim "
                f"{claim.metadata.name} are ready ({', '.join(wanted)})."
            )
    return ""


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
    claim = known.filter(namespace=pod.namespace, name=name).first()
    if claim is None:
        yield f"It waits for ResourceClaim {name}, which does not exist."
    elif claim.body["metadata"].get("deletionTimestamp"):
        yield f"ResourceClaim {name} is being deleted: it waits for one of the same name."
