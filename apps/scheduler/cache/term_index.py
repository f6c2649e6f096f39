"""Which of the terms that running pods carry are about a given pod."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from apps.scheduler.cache.label_index import selector_tags
from apps.scheduler.cache.pod_index import PodClass, PodIndex
from apps.scheduler.framework.affinity_terms import CarriedTerm
from apps.scheduler.framework.types import PodInfo


class TermIndex(PodIndex[CarriedTerm]):
    """Pods by the terms they carry. A term is its own tag, since columns know what they count.

    The terms about a pod are found by a label that their selectors ask for.
    """

    def __init__(self) -> None:
        super().__init__(lambda pod: pod.terms.carried, lambda term: (term,))
        #: label that a pod must have (None: none can be told) -> the terms that may be about it
        self._by_label: dict[Hashable, dict[CarriedTerm, None]] = {}
        #: counts every term that appeared or vanished
        self.version = 0

    def matching(
        self, pod: PodInfo, namespace_labels: Mapping[str, str]
    ) -> tuple[CarriedTerm, ...]:
        """The terms about ``pod``, whose namespace has these labels, in a stable order."""
        return tuple(
            carried
            for carried in self._candidates(pod.labels)
            if carried.term.matches(pod.pod, namespace_labels)
        )

    def _candidates(self, labels: Mapping[str, str]) -> Iterator[CarriedTerm]:
        for label in (None, *sorted(labels.items())):
            yield from self._by_label.get(label, ())

    def _appear(self, known: PodClass[CarriedTerm]) -> None:
        super()._appear(known)
        self.version += 1
        for label in _labels_asked_for(known.key):
            self._by_label.setdefault(label, {})[known.key] = None

    def _vanish(self, known: PodClass[CarriedTerm]) -> None:
        super()._vanish(known)
        self.version += 1
        for label in _labels_asked_for(known.key):
            terms = self._by_label[label]
            del terms[known.key]
            if not terms:
                del self._by_label[label]


def _labels_asked_for(carried: CarriedTerm) -> Iterable[Hashable]:
    """A pod that the term is about has exactly one of these labels."""
    labels = selector_tags(carried.term.selector, None)
    return (None,) if labels is None else labels
