"""Which pods, or which missing pods, make a node unsuitable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apps.scheduler.cache.listers import Listers
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.affinity_terms import AffinityTerm, TermKind
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.plugins.helper.node_text import label_text, list_names
from apps.scheduler.plugins.interpodaffinity.filtering import (
    REASON_ANTI_AFFINITY,
    REASON_EXISTING_ANTI_AFFINITY,
)


@dataclass(frozen=True, slots=True)
class UnmetTerms:
    """The terms of the pod, or of running pods, that a node does not meet."""

    pod: PodInfo
    #: the node as Filter saw it, possibly with nominated pods
    node: NodeInfo
    row: int
    snapshot: Snapshot
    listers: Listers

    def details(self, status: Status) -> Iterator[Detail]:
        if REASON_EXISTING_ANTI_AFFINITY in status.reasons:
            return self._of_existing_pods()
        if REASON_ANTI_AFFINITY in status.reasons:
            return self._anti_affinity()
        return self._affinity()

    def _anti_affinity(self) -> Iterator[Detail]:
        for number, term in enumerate(self.pod.terms.required_anti_affinity, 1):
            others = self._matched_in_domain(term)
            if others:
                yield Detail(
                    f"anti-affinity term {number} excludes {_pods(term)} in the same "
                    f"{self._domain(term)}: {list_names(others)}",
                    {"term": number, "key": term.topology_key, "pods": others},
                )

    def _affinity(self) -> Iterator[Detail]:
        for number, term in enumerate(self.pod.terms.required_affinity, 1):
            if not self._labels.get(term.topology_key):
                yield Detail(
                    f"affinity term {number}: the node has {self._domain(term)}",
                    {"term": number, "key": term.topology_key},
                )
            elif not self._matched_in_domain(term):
                yield Detail(
                    f"affinity term {number} requires {_pods(term)} in the same "
                    f"{term.topology_key}: there are none in {self._labels[term.topology_key]}",
                    {"term": number, "key": term.topology_key, "pods": []},
                )

    def _of_existing_pods(self) -> Iterator[Detail]:
        """Running pods whose required anti-affinity matches this pod."""
        namespace_labels = self._namespace_labels(self.pod)
        by_key: dict[str, list[str]] = {}
        for other, at in self._running_pods():
            for carried in other.terms.carried:
                key = carried.term.topology_key
                here = self._labels.get(key)
                if (
                    carried.kind is TermKind.REQUIRED_ANTI_AFFINITY
                    and here is not None
                    and at.get(key) == here
                    and carried.term.matches(self.pod.pod, namespace_labels)
                ):
                    by_key.setdefault(f"{key}={here}", []).append(other.key)
        for domain, pods in by_key.items():
            yield Detail(
                f"pods in {domain} have anti-affinity to this pod: {list_names(pods)}",
                {"domain": domain, "pods": pods},
            )

    def _matched_in_domain(self, term: AffinityTerm) -> list[str]:
        """Keys of the pods in the node's domain that a term matches."""
        here = self._labels.get(term.topology_key)
        return [
            other.key
            for other, at in self._running_pods()
            if here is not None
            and at.get(term.topology_key) == here
            and term.matches(other.pod, self._namespace_labels(other))
        ]

    def _running_pods(self) -> Iterator[tuple[PodInfo, Mapping[str, str]]]:
        """Every pod on a node, with the node's labels."""
        for row in self.snapshot.order.tolist():
            info = self.node if row == self.row else self.snapshot.info(row)
            for pod in info.pods.values():
                yield pod, _labels(info)

    def _namespace_labels(self, pod: PodInfo) -> Mapping[str, str]:
        namespace = self.listers.namespaces.get(pod.namespace)
        return namespace.metadata.labels if namespace is not None else {}

    @property
    def _labels(self) -> Mapping[str, str]:
        return _labels(self.node)

    def _domain(self, term: AffinityTerm) -> str:
        return label_text(self._labels, term.topology_key)


def _labels(info: NodeInfo) -> Mapping[str, str]:
    return info.node.metadata.labels if info.node is not None else {}


def _pods(term: AffinityTerm) -> str:
    return f"pods with {term.selector}" if str(term.selector) else "all pods"
