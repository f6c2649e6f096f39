"""The terms of running pods that match the incoming pod."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from apps.scheduler.cache.listers import Listers
from apps.scheduler.cache.pod_index import Name, PodClass
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.affinity_terms import CarriedTerm, TermKind
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.interpodaffinity import NAME

#: the number of cached results for equal pods
_MAX_KNOWN: Final = 1024

Weights = Mapping[CarriedTerm, int]


@dataclass(frozen=True, eq=False)
class CarriedTally:
    """Terms with one topology key, and the weight of a pod that has one of them."""

    topology_key: str
    weights: Weights

    @lazy
    def name(self) -> Name:
        """See cache.pod_index.Counted."""
        return Name(NAME, *self.weights.items())

    @property
    def tags(self) -> Collection[Hashable]:
        return self.weights.keys()

    def weigh(self, known: PodClass[CarriedTerm]) -> int:
        return self.weights.get(known.key, 0)


@dataclass(frozen=True, eq=False)
class Existing:
    """The tallies of the terms of running pods, at most one of each kind for a topology key."""

    #: required anti-affinity terms
    anti_affinity: tuple[CarriedTally, ...] = ()
    #: weights for scoring, those of anti-affinity negative
    preferred: tuple[CarriedTally, ...] = ()
    #: the number of terms, where the weights in ``preferred`` may add up to 0
    preferred_matches: tuple[CarriedTally, ...] = ()


class ExistingTerms:
    """Finds the terms; ``hard_pod_affinity_weight`` is the score of a required affinity term.

    Results are cached for pods of the same namespace and labels until a term is added or removed,
    or a namespace changes.
    """

    def __init__(
        self, snapshot: Snapshot, listers: Listers, *, hard_pod_affinity_weight: int
    ) -> None:
        self._snapshot = snapshot
        self._namespaces = listers.namespaces
        self._hard_weight = hard_pod_affinity_weight
        self._known: dict[Hashable, Existing] = {}
        self._version = (-1, -1)

    @property
    def version(self) -> tuple[int, int]:
        """Changes whenever other terms may match a pod."""
        return self._snapshot.pods_by_term.version, self._namespaces.version

    def about(self, pod: PodInfo) -> Existing:
        version = self.version
        if version != self._version or len(self._known) >= _MAX_KNOWN:
            self._known.clear()
            self._version = version
        known = self._known.get(pod.label_class)
        if known is None:
            known = self._known[pod.label_class] = self._find(pod)
        return known

    def is_indifferent_to(self, pod: PodInfo) -> bool:
        """Whether no term of a running pod matches."""
        if not len(self._snapshot.pods_by_term):
            return True
        terms = self.about(pod)
        return not terms.anti_affinity and not terms.preferred

    def namespace_labels(self, pod: PodInfo) -> Mapping[str, str]:
        """A namespace without an object has no labels."""
        namespace = self._namespaces.get(pod.namespace)
        return {} if namespace is None else namespace.metadata.labels

    def _find(self, pod: PodInfo) -> Existing:
        matching = self._snapshot.pods_by_term.matching(pod, self.namespace_labels(pod))
        anti = {term: 1 for term in matching if term.kind is TermKind.REQUIRED_ANTI_AFFINITY}
        scored = {term: weight for term in matching if (weight := self._score_weight(term))}
        preferred = _tallies(scored)
        return Existing(
            anti_affinity=_tallies(anti),
            preferred=preferred,
            preferred_matches=tuple(
                CarriedTally(tally.topology_key, dict.fromkeys(tally.weights, 1))
                for tally in preferred
                if min(tally.weights.values()) < 0 < max(tally.weights.values())
            ),
        )

    def _score_weight(self, carried: CarriedTerm) -> int:
        match carried.kind:
            case TermKind.REQUIRED_AFFINITY:
                return self._hard_weight
            case TermKind.PREFERRED_AFFINITY:
                return carried.weight
            case TermKind.PREFERRED_ANTI_AFFINITY:
                return -carried.weight
            case _:
                return 0


def _tallies(weights: Weights) -> tuple[CarriedTally, ...]:
    """One tally for each topology key."""
    by_key: dict[str, dict[CarriedTerm, int]] = {}
    for carried, weight in weights.items():
        by_key.setdefault(carried.term.topology_key, {})[carried] = weight
    return tuple(CarriedTally(key, group) for key, group in by_key.items())
