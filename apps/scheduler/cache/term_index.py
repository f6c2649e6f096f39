"""Which of the (anti-)affinity terms of running pods match a given pod."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping

from apps.scheduler.cache.label_index import selector_tags
from apps.scheduler.cache.pod_index import PodClass, PodIndex
from apps.scheduler.framework.affinity_terms import CarriedTerm
from apps.scheduler.framework.types import PodInfo

#: no two indexes have the same version, unless both are empty
_versions = itertools.count(1)


class TermIndex(PodIndex[CarriedTerm]):
    """Pods by their terms. A term is its own tag, since columns count single terms.

    The terms that match a pod are found by a label that their selectors require.
    """

    def __init__(self) -> None:
        super().__init__(lambda pod: pod.terms.carried, lambda term: (term,))
        #: label that a pod must have (None: no single label) -> the terms that may match it
        self._by_label: dict[Hashable, dict[CarriedTerm, None]] = {}
        #: changes with every term that appears or disappears
        self.version = 0

    def matching(
        self, pod: PodInfo, namespace_labels: Mapping[str, str]
    ) -> tuple[CarriedTerm, ...]:
        """The terms that match ``pod``, whose namespace has these labels, in a stable order."""
        return tuple(
            carried
            for carried in self._candidates(pod.labels)
            if carried.term.matches(pod.pod, namespace_labels)
        )

    def _candidates(self, labels: Mapping[str, str]) -> Iterator[CarriedTerm]:
        for label in (None, *sorted(labels.items())):
            yield from self._by_label.get(label, ())

    def _add_class(self, known: PodClass[CarriedTerm]) -> None:
        super()._add_class(known)
        self.version = next(_versions)
        for label in _required_labels(known.key):
            self._by_label.setdefault(label, {})[known.key] = None

    def _remove_class(self, known: PodClass[CarriedTerm]) -> None:
        super()._remove_class(known)
        self.version = next(_versions)
        for label in _required_labels(known.key):
            terms = self._by_label[label]
            del terms[known.key]
            if not terms:
                del self._by_label[label]


def _required_labels(carried: CarriedTerm) -> Iterable[Hashable]:
    """A pod that the term matches has exactly one of these labels."""
    labels = selector_tags(carried.term.selector, None)
    return (None,) if labels is None else labels
