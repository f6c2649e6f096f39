"""Inter-pod affinity terms, compiled: selectors are read once and then matched many times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.scheduler.labels import NOTHING, Selector, from_label_selector
from apps.scheduler.objects import Pod, PodAffinityTerm


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Which pods a term is about, and the node label that delimits its domains."""

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str

    def matches(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """Whether the term is about `pod`, whose namespace has these labels."""
        return (
            pod.metadata.namespace in self.namespaces
            or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(pod.metadata.labels)


def compile_term(term: PodAffinityTerm, owner_namespace: str) -> AffinityTerm:
    """A term without namespaces and without namespace selector is about its owner's namespace."""
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


def compile_terms(
    terms: Iterable[PodAffinityTerm], owner_namespace: str
) -> tuple[AffinityTerm, ...]:
    """Raises SelectorError for a selector that no API server would have let pass."""
    return tuple(compile_term(term, owner_namespace) for term in terms)
