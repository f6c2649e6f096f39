"""The consequences of deleting an object, shown before it is deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from apps.administration.clusters.evictions import find_controller
from apps.cluster.models import Cluster, KubernetesObject, Pod
from apps.cluster.tables.columns import get
from apps.dashboard.queries.nodes import stranded_pods
from apps.dashboard.queries.related import pods_with_claim, selected_pods


@dataclass(frozen=True, slots=True)
class SelectedPods:
    """Pods to delete, the resources this frees, and the workloads that replace some of them."""

    pods: Sequence[Pod]
    bound: int
    #: (resource, amount) on nodes
    freed: Sequence[tuple[str, int]]
    #: (workload, number of its pods among these)
    replaced: Sequence[tuple[str, int]]
    #: `namespace/name` of those that no controller recreates
    lost: Sequence[str]


def pods_to_delete(cluster: Cluster, chosen: Sequence[str]) -> SelectedPods:
    """The existing pods among these, given as `namespace/name`."""
    names = {key.partition("/")[2] for key in chosen}
    rows = Pod.objects.filter(cluster=cluster, name__in=names).order_by("namespace", "name")
    wanted = set(chosen)
    pods = [pod for pod in rows if f"{pod.namespace}/{pod.name}" in wanted]
    freed: Counter[str] = Counter()
    replaced: Counter[str] = Counter()
    lost: list[str] = []
    for pod in pods:
        if pod.node_name:
            freed.update(pod.requests)
        if controller := find_controller(pod.body):
            replaced[controller] += 1
        else:
            lost.append(f"{pod.namespace}/{pod.name}")
    return SelectedPods(
        pods,
        bound=sum(bool(pod.node_name) for pod in pods),
        freed=sorted(freed.items()),
        replaced=sorted(replaced.items()),
        lost=lost,
    )


def of_node(cluster: Cluster, node: KubernetesObject) -> list[str]:
    stranded = stranded_pods(cluster, [node.name])
    if not stranded.count:
        return ["No pods are bound to it."]
    sentences = [f"{_count(stranded.count, 'pod')} bound to it will be left without a node."]
    if stranded.lost:
        names = ", ".join(stranded.lost[:5])
        more = f" and {len(stranded.lost) - 5} more" if len(stranded.lost) > 5 else ""
        sentences.append(f"No controller recreates {names}{more}.")
    return sentences


def of_pod(cluster: Cluster, pod: KubernetesObject) -> list[str]:
    assert isinstance(pod, Pod)
    sentences = []
    if pod.node_name:
        sentences.append(f"Its requests are freed on {pod.node_name}.")
    controller = find_controller(pod.body)
    sentences.append(
        f"{controller} will create a replacement."
        if controller
        else "No controller recreates it. To create it again, duplicate it from its timeline."
    )
    return [*sentences, "Its decisions and timeline remain available."]


def of_namespace(cluster: Cluster, namespace: KubernetesObject) -> list[str]:
    pods = Pod.objects.filter(cluster=cluster, namespace=namespace.name).count()
    also = f" Its {_count(pods, 'pod')} will also be deleted." if pods else ""
    return [f"All objects in it will be deleted, and no new ones can be created in it.{also}"]


def of_budget(cluster: Cluster, budget: KubernetesObject) -> list[str]:
    pods, _ = selected_pods(cluster, budget)
    return [
        f"{_count(pods.count(), 'pod')} it selects will no longer be protected from "
        "eviction, and preemption will no longer avoid them."
    ]


def of_priority_class(cluster: Cluster, priority_class: KubernetesObject) -> list[str]:
    value = get(priority_class.body, "value", default=0)
    pods = Pod.objects.filter(cluster=cluster, priority=value).count()
    return [
        f"{_count(pods, 'pod')} of priority {value:,} keep that priority. New pods "
        "that name this class will be rejected."
    ]


def of_workload(cluster: Cluster, workload: KubernetesObject) -> list[str]:
    pods, _ = selected_pods(cluster, workload)
    return [f"{_count(pods.count(), 'pod')} it manages will also be deleted."]


def of_volume_claim(cluster: Cluster, claim: KubernetesObject) -> list[str]:
    pods = pods_with_claim(cluster, claim.namespace, claim.name).count()
    return [f"{_count(pods, 'pod')} mount it; it is removed when none of them does."]


def of_others(cluster: Cluster, stored: KubernetesObject) -> list[str]:
    return ["Objects that refer to it will no longer find it."]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
