"""The terms of the incoming pod, prepared for counting running pods."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.scheduler.cache.label_index import selector_tags
from apps.scheduler.cache.lister import Lister
from apps.scheduler.cache.pod_index import Name, PodClass
from apps.scheduler.framework.affinity_terms import AffinityTerm, PodTerms
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.types import LabelClass, PodInfo
from apps.scheduler.labels import Selector
from apps.scheduler.objects import Namespace
from apps.scheduler.plugins.interpodaffinity import NAME

#: the number of cached groups of resolved terms
_MAX_KNOWN: Final = 1024


@dataclass(frozen=True, slots=True)
class ResolvedTerm:
    """A term whose namespace selector has been replaced by the namespaces that it selects."""

    #: None = all
    namespaces: frozenset[str] | None
    selector: Selector
    topology_key: str

    def matches(self, pod: PodInfo) -> bool:
        return (
            self.namespaces is None or pod.namespace in self.namespaces
        ) and self.selector.matches(pod.labels)


@dataclass(frozen=True, eq=False)
class Tally:
    """What to count of running pods, and by which node label."""

    topology_key: str
    #: (weight, term): a pod adds the weights of the terms that it matches
    terms: tuple[tuple[int, ResolvedTerm], ...]
    #: a pod counts once, and only if it matches all the terms
    jointly: bool = False

    @lazy
    def name(self) -> Name:
        """See cache.pod_index.Counted."""
        return Name(NAME, self.terms, self.jointly)

    @lazy
    def tags(self) -> Collection[Hashable] | None:
        asked = [selector_tags(term.selector, term.namespaces) for _, term in self.terms]
        if self.jointly:
            asked = asked[:1]
        if any(tags is None for tags in asked):
            return None
        return {tag for tags in asked if tags is not None for tag in tags}

    def weigh(self, known: PodClass[LabelClass]) -> int:
        return self.of(known.example)

    def of(self, pod: PodInfo) -> int:
        """The weight of the pod."""
        if self.jointly:
            return int(all(term.matches(pod) for _, term in self.terms))
        return sum(weight for weight, term in self.terms if term.matches(pod))


@dataclass(frozen=True, eq=False)
class Incoming:
    """The tallies of a pod's own terms, at most one of each kind for a topology key."""

    #: pods that match all required affinity terms
    affinity: tuple[Tally, ...] = ()
    #: pods that match a required anti-affinity term
    anti_affinity: tuple[Tally, ...] = ()
    #: weights of the preferred terms that pods match, those of anti-affinity negative
    preferred: tuple[Tally, ...] = ()
    #: the number of terms that pods match, where the weights in ``preferred`` may add up to 0
    preferred_matches: tuple[Tally, ...] = ()

    def likes_itself(self, pod: PodInfo) -> bool:
        """Whether the pod matches all of its own required affinity terms."""
        return bool(self.affinity) and bool(self.affinity[0].of(pod))


NOTHING_ASKED: Final = Incoming()


class IncomingTerms:
    """Resolved terms, cached for the next pods of the same template."""

    def __init__(self, namespaces: Lister[Namespace]) -> None:
        self._namespaces = namespaces
        self._known: dict[PodTerms, Incoming] = {}
        self._version = -1

    def of(self, terms: PodTerms) -> Incoming:
        if not terms.carried:
            return NOTHING_ASKED
        if self._version != self._namespaces.version or len(self._known) >= _MAX_KNOWN:
            self._known.clear()
            self._version = self._namespaces.version
        known = self._known.get(terms)
        if known is None:
            known = self._known[terms] = self._resolve_all(terms)
        return known

    def _resolve_all(self, terms: PodTerms) -> Incoming:
        joint = tuple((1, self._resolve(term)) for term in terms.required_affinity)
        keys = dict.fromkeys(term.topology_key for _, term in joint)
        anti = [(1, self._resolve(term)) for term in terms.required_anti_affinity]
        preferred = [
            *((each.weight, self._resolve(each.term)) for each in terms.preferred_affinity),
            *((-each.weight, self._resolve(each.term)) for each in terms.preferred_anti_affinity),
        ]
        return Incoming(
            affinity=tuple(Tally(key, joint, jointly=True) for key in keys),
            anti_affinity=_tallies(anti),
            preferred=_tallies(preferred),
            preferred_matches=tuple(
                Tally(tally.topology_key, tuple((1, term) for _, term in tally.terms))
                for tally in _tallies(preferred)
                if len({weight > 0 for weight, _ in tally.terms}) == 2
            ),
        )

    def _resolve(self, term: AffinityTerm) -> ResolvedTerm:
        """A namespace without a Namespace object is not selected, as upstream.

        Upstream looks for the names of selected namespaces, and then asks the selector about no
        labels at all; one that matches these (`DoesNotExist`, `NotIn`) selects all namespaces.
        """
        namespaces: frozenset[str] | None = None
        if not term.namespace_selector.matches({}):
            selected = () if term.namespace_selector.nothing else self._namespaces
            namespaces = term.namespaces.union(
                namespace.metadata.name
                for namespace in selected
                if term.namespace_selector.matches(namespace.metadata.labels)
            )
        return ResolvedTerm(namespaces, term.selector, term.topology_key)


def _tallies(terms: Sequence[tuple[int, ResolvedTerm]]) -> tuple[Tally, ...]:
    """One tally for each topology key."""
    by_key: Mapping[str, list[tuple[int, ResolvedTerm]]] = {
        term.topology_key: [] for _, term in terms
    }
    for weight, term in terms:
        by_key[term.topology_key].append((weight, term))
    return tuple(Tally(key, tuple(group)) for key, group in by_key.items())
