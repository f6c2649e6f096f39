"""Which events trigger a retry of a pod that InterPodAffinity rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from apps.scheduler.framework.affinity_terms import AffinityTerm
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod

#: Namespace selectors are evaluated without the labels of any namespace, as upstream does here: a
#: selector with labels never triggers a retry.
_NO_LABELS: Mapping[str, str] = {}


def hint_pod_changed(pod: PodInfo, old: Pod | None, new: Pod | None) -> QueueingHint:
    """A running pod matches the affinity now, or no longer matches the anti-affinity.

    New labels of the pod itself may resolve a conflict with the anti-affinity of running pods, and
    so does the end of such a pod.
    """
    if new is not None and new.metadata.uid == pod.uid:
        return QueueingHint.QUEUE
    if any(each is not None and not each.spec.node_name for each in (old, new)):
        return QueueingHint.QUEUE_SKIP
    near, away = pod.terms.required_affinity, pod.terms.required_anti_affinity
    attracts = _matches_all(near, new) and not _matches_all(near, old)
    releases = _matches_all(away, old) and not _matches_all(away, new)
    if not (attracts or releases) and old is not None and new is None:
        releases = _matches_all(PodInfo(old).terms.required_anti_affinity, pod.pod)
    return QueueingHint.QUEUE if attracts or releases else QueueingHint.QUEUE_SKIP


def hint_node_changed(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """The node has joined a domain of an affinity, or left one of an anti-affinity.

    A new node always counts: it may be in no domain, or in one without pods.
    """
    near = {term.topology_key for term in pod.terms.required_affinity}
    away = {term.topology_key for term in pod.terms.required_anti_affinity}
    if old is None:
        helps = bool(away) or any(key in new.metadata.labels for key in near)
        return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP
    before, now = old.metadata.labels, new.metadata.labels
    helps = _differs(near, now, before) or _differs(away, before, now)
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def _matches_all(terms: tuple[AffinityTerm, ...], pod: Pod | None) -> bool:
    """Whether the pod matches all the terms; False if there are none."""
    return bool(terms) and pod is not None and all(t.matches(pod, _NO_LABELS) for t in terms)


def _differs(keys: Iterable[str], having: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether `having` has one of the labels with a value that `other` does not give it."""
    return any(key in having and having[key] != other.get(key) for key in keys)


EVENTS: Final = (
    ClusterEventWithHint(
        ClusterEvent(
            Resource.POD, ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL
        ),
        hint_pod_changed,
        looks_for="that matches the pod's affinity or anti-affinity",
    ),
    ClusterEventWithHint(
        ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        hint_node_changed,
        looks_for="in a topology domain of the pod's affinity or anti-affinity",
    ),
)
