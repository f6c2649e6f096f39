"""The filters of a cycle by what is known about them."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence

from apps.scheduler.framework.interface import FilterPlugin
from apps.scheduler.framework.node_columns import Reads


class FilterPlan:
    """The filters of a cycle by what is known about them."""

    def __init__(
        self, filters: Sequence[FilterPlugin], reads: Mapping[str, Reads], domains: Collection[str]
    ) -> None:
        self.filters = list(filters)
        #: those before the first that did not sign the pod, or looks at domains
        self.signed, rest = _split(self.filters, reads)
        #: those of them, at the start, that look at Node objects alone; and the others of them
        nodes_only = {name for name, what in reads.items() if what == "nodes"}
        self.of_nodes, self.of_pods = _split(self.signed, nodes_only)
        #: whether these others read nothing of the pods on a row but amounts
        self.by_amounts = all(reads[each.name] == "amounts" for each in self.of_pods)
        #: those after ``signed`` that look at domains, and what comes then: asked in each cycle
        self.domains, self.others = _split(rest, domains)
        #: whether all filters signed the pod, and none looks at domains
        self.is_all_signed = not rest


def _split(
    filters: list[FilterPlugin], names: Container[str]
) -> tuple[list[FilterPlugin], list[FilterPlugin]]:
    """The filters before the first that is not one of ``names``, and the others."""
    for place, plugin in enumerate(filters):
        if plugin.name not in names:
            return filters[:place], filters[place:]
    return filters, []
