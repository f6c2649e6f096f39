"""Which of the terms that running pods carry are about a given pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from apps.scheduler.cache.pod_index import PodClass, PodIndex
from apps.scheduler.framework.affinity_terms import CarriedTerm
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import IN, Selector

#: a label that a pod must have for a term to be about it; None: there is no such label
_Label = tuple[str, str] | None


class TermIndex(PodIndex[CarriedTerm]):
    """Pods by the terms they carry. A term is found by a label that its selector asks for."""

    def __init__(self) -> None:
        super().__init__(lambda pod: pod.terms.carried)
        self._by_label: dict[_Label, dict[CarriedTerm, None]] = {}
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
        for label in _labels_asked_for(known.key.term.selector):
            self._by_label.setdefault(label, {})[known.key] = None

    def _vanish(self, known: PodClass[CarriedTerm]) -> None:
        super()._vanish(known)
        self.version += 1
        for label in _labels_asked_for(known.key.term.selector):
            terms = self._by_label[label]
            del terms[known.key]
            if not terms:
                del self._by_label[label]


def _labels_asked_for(selector: Selector) -> Iterable[_Label]:
    """A pod that matches has exactly one of these labels; none at all if no pod matches."""
    if selector.nothing:
        return ()
    listed = [each for each in selector.requirements if each.operator == IN]
    if not listed:
        return (None,)
    narrowest = min(listed, key=lambda requirement: len(requirement.values))
    return [(narrowest.key, value) for value in dict.fromkeys(narrowest.values)]
