"""What the plugin reads of a pod: pods that it cannot tell apart share an object."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from apps.scheduler.cache.listers import Listers
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.interpodaffinity.existing import CarriedTally, Existing, ExistingTerms
from apps.scheduler.plugins.interpodaffinity.filtering import AffinityFilter
from apps.scheduler.plugins.interpodaffinity.incoming import Incoming, IncomingTerms
from apps.scheduler.plugins.interpodaffinity.scoring import AffinityScores

#: the number of signs
_MAX_KNOWN: Final = 4096


class AffinitySign:
    """Equal only to itself. A part is None if the pod has and matches no term of that kind."""

    def __init__(self, filter: AffinityFilter | None, scores: AffinityScores | None) -> None:
        self.filter = filter
        self.scores = scores


#: of pods that neither have nor match a term
UNRELATED: Final = AffinitySign(None, None)


class AffinitySigns:
    """The pods' own terms with those of running pods that match them, and their signs.

    ``hard_pod_affinity_weight`` is the score of a required affinity term of a running pod. With
    ``ignores_existing`` the terms of running pods do not score pods without preferred terms.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        listers: Listers,
        *,
        hard_pod_affinity_weight: int,
        ignores_existing: bool,
    ) -> None:
        self._incoming = IncomingTerms(listers.namespaces)
        self.existing = ExistingTerms(
            snapshot, listers, hard_pod_affinity_weight=hard_pod_affinity_weight
        )
        self._ignores_existing = ignores_existing
        #: the terms, and whether the pod matches its own affinity terms -> the sign
        self._by_terms: dict[tuple[Incoming, Existing, bool], AffinitySign] = {}
        #: the same by value: terms are compiled again when a namespace changes
        self._by_content: dict[Hashable, AffinitySign] = {}
        #: the last pod that was asked about, with the versions of what its sign depends on
        self._last: tuple[PodInfo, tuple[int, int], AffinitySign] | None = None

    def of(self, pod: PodInfo) -> AffinitySign:
        """The pod's sign, if its terms are valid."""
        if not pod.terms.carried and self.existing.is_indifferent_to(pod):
            return UNRELATED
        version = self.existing.version
        last = self._last
        if last is not None and last[0] is pod and last[1] == version:
            return last[2]
        incoming, existing = self._incoming.of(pod.terms), self.existing.about(pod)
        key = (incoming, existing, incoming.likes_itself(pod))
        sign = self._by_terms.get(key)
        if sign is None:
            if len(self._by_terms) >= _MAX_KNOWN:
                self._by_terms.clear()
            sign = self._by_terms[key] = self._find(*key)
        self._last = pod, version, sign
        return sign

    def _find(self, incoming: Incoming, existing: Existing, likes_itself: bool) -> AffinitySign:
        content = (_content_of_incoming(incoming), _content_of_existing(existing), likes_itself)
        known = self._by_content.get(content)
        if known is None:
            if len(self._by_content) >= _MAX_KNOWN:
                self._by_content.clear()
            scored = bool(incoming.preferred or existing.preferred)
            if self._ignores_existing and not incoming.preferred:
                scored = False
            known = self._by_content[content] = AffinitySign(
                AffinityFilter(incoming, existing, likes_itself=likes_itself)
                if incoming.affinity or incoming.anti_affinity or existing.anti_affinity
                else None,
                AffinityScores(incoming, existing) if scored else None,
            )
        return known


def _content_of_incoming(incoming: Incoming) -> Hashable:
    return tuple(
        tuple((tally.topology_key, tally.terms) for tally in tallies)
        for tallies in (incoming.affinity, incoming.anti_affinity, incoming.preferred)
    )


def _content_of_existing(existing: Existing) -> Hashable:
    def content(tallies: Iterable[CarriedTally]) -> Hashable:
        return frozenset(item for tally in tallies for item in tally.weights.items())

    return content(existing.anti_affinity), content(existing.preferred)
