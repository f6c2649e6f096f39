"""Inter-pod affinity terms, compiled: selectors are parsed once and then matched many times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from apps.scheduler.labels import NOTHING, Selector, SelectorError, from_label_selector
from apps.scheduler.objects import Pod, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm

T = TypeVar("T")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Which pods a term matches, and the node label that defines its topology domains."""

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str

    def matches(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """Whether the term matches `pod`, whose namespace has these labels."""
        return (
            pod.metadata.namespace in self.namespaces
            or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(pod.metadata.labels)


class TermKind(Enum):
    REQUIRED_AFFINITY = "required affinity"
    REQUIRED_ANTI_AFFINITY = "required anti-affinity"
    PREFERRED_AFFINITY = "preferred affinity"
    PREFERRED_ANTI_AFFINITY = "preferred anti-affinity"


@dataclass(frozen=True, slots=True)
class CarriedTerm:
    """A term of a running pod, for pods that it may match."""

    kind: TermKind
    term: AffinityTerm
    #: of a preferred term, 1..100; 0 for a required one
    weight: int = 0
    #: every pod that is added or removed is looked up by its terms, so this is computed once
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.kind, self.term, self.weight)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    weight: int
    term: AffinityTerm


@dataclass(frozen=True, slots=True, eq=False)
class PodTerms:
    """All terms of one pod. A group with an invalid selector is empty."""

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[WeightedTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedTerm, ...] = ()
    #: the same terms, for the index of pods by their terms
    carried: tuple[CarriedTerm, ...] = ()
    #: the errors of the groups with an invalid selector
    errors: tuple[str, ...] = ()


NO_TERMS: Final = PodTerms()


def compile_term(term: PodAffinityTerm, owner_namespace: str) -> AffinityTerm:
    """A term without namespaces and namespace selector matches pods of its owner's namespace."""
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        namespaces=frozenset({owner_namespace} if own else term.namespaces),
        namespace_selector=(
            NOTHING
            if term.namespace_selector is None
            else from_label_selector(term.namespace_selector)
        ),
        selector=from_label_selector(term.label_selector),
        topology_key=term.topology_key,
    )


def pod_terms(pod: Pod) -> PodTerms:
    """The pod's terms; the same object for all pods of a namespace with equal affinity."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    written = msgspec.json.encode((affinity.pod_affinity, affinity.pod_anti_affinity))
    return _compile_pod(pod.metadata.namespace, written)


@lru_cache(maxsize=4096)
def _compile_pod(namespace: str, written: bytes) -> PodTerms:
    near, away = msgspec.json.decode(written, type=tuple[PodAffinity | None, PodAffinity | None])
    near, away = near or PodAffinity(), away or PodAffinity()
    errors: list[str] = []

    def required(written: PodAffinityTerm) -> AffinityTerm:
        return compile_term(written, namespace)

    def preferred(written: WeightedPodAffinityTerm) -> WeightedTerm:
        return WeightedTerm(written.weight, compile_term(written.pod_affinity_term, namespace))

    affinity = _group(near.required_during_scheduling_ignored_during_execution, required, errors)
    anti = _group(away.required_during_scheduling_ignored_during_execution, required, errors)
    liked = _group(near.preferred_during_scheduling_ignored_during_execution, preferred, errors)
    disliked = _group(away.preferred_during_scheduling_ignored_during_execution, preferred, errors)
    carried = (
        *(CarriedTerm(TermKind.REQUIRED_AFFINITY, term) for term in affinity),
        *(CarriedTerm(TermKind.REQUIRED_ANTI_AFFINITY, term) for term in anti),
        *(CarriedTerm(TermKind.PREFERRED_AFFINITY, each.term, each.weight) for each in liked),
        *(
            CarriedTerm(TermKind.PREFERRED_ANTI_AFFINITY, each.term, each.weight)
            for each in disliked
        ),
    )
    return PodTerms(affinity, anti, liked, disliked, carried, tuple(errors))


def _group(written: Sequence[T], compiled: Callable[[T], C], errors: list[str]) -> tuple[C, ...]:
    try:
        return tuple(map(compiled, written))
    except SelectorError as error:
        errors.append(str(error))
        return ()
