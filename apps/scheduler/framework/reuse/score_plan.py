"""The scorers of a cycle by what is known about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from apps.scheduler.framework.node_columns import Reads
from apps.scheduler.framework.plugin_scores import Scorer


class ScorePlan:
    """The scorers of a cycle by what is known about them."""

    def __init__(
        self, scorers: Sequence[Scorer], reads: Mapping[str, Reads], domains: Collection[str]
    ) -> None:
        self.scorers = list(scorers)
        self.signed = [each for each in scorers if each.name in reads]
        #: those that are asked in each cycle, and those that did not sign the pod
        self.domains = [each for each in scorers if each.name in domains]
        self.others = [
            each for each in scorers if each.name not in reads and each.name not in domains
        ]
        self.by_amounts = [each for each in self.signed if reads[each.name] == "amounts"]
        self.by_pods = [each for each in self.signed if reads[each.name] == "pods"]
        #: those whose scores change with the pods of a row
        self.changing = [*self.by_amounts, *self.by_pods]
        self._weights = [each.weight for each in self.changing]
        #: signed scorers whose scores depend on nothing but Node objects
        self.constant = [each for each in self.signed if reads[each.name] == "nodes"]
        #: whether the normalized scores of ``changing`` are the raw ones
        self.is_plain = all(each.normalizer is None for each in self.changing)
        #: (position, name, weight) of ``changing`` if so
        self.live = (
            [(index, each.name, each.weight) for index, each in enumerate(self.changing)]
            if self.is_plain
            else []
        )
        #: all names, each with 0, and who gets the time of an update
        self.times = dict.fromkeys((each.name for each in scorers), 0)
        updated = self.changing or self.signed[:1]
        self.updated = updated[-1].name if updated else ""

    def with_sum(self, scores: Sequence[int]) -> tuple[int, ...]:
        """Scores of the first of ``changing`` for one row, and their weighted sum."""
        total = 0
        for score, weight in zip(scores, self._weights, strict=False):
            total += score * weight
        return (*scores, total)
