"""Which terms of which pods count for a node, by topology value, as sentences with figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.affinity_terms import CarriedTerm, TermKind
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import Selector
from apps.scheduler.plugins.helper.arithmetic import operand, rounded, signed, sum_text
from apps.scheduler.plugins.helper.node_text import list_names
from apps.scheduler.plugins.helper.normalize import raw_range
from apps.scheduler.plugins.interpodaffinity.existing import Existing
from apps.scheduler.plugins.interpodaffinity.incoming import Incoming, ResolvedTerm

_OWN, _OTHERS = "pod", "running pods"


@dataclass(frozen=True, slots=True)
class CountedTerm:
    """A term that scores nodes, and the pods that it counts by topology domain."""

    term: ResolvedTerm | CarriedTerm
    kind: TermKind
    #: of each counted pod; negative for anti-affinity
    weight: int
    selector: Selector
    domains: Domains
    key: str
    #: slot of the domain -> keys of the pods there
    pods: dict[int, list[str]] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return _OWN if isinstance(self.term, ResolvedTerm) else _OTHERS

    def count(self, pod: PodInfo, row: int) -> None:
        """Enter a pod that runs on a row, once for each time that the term counts it."""
        slot = int(self.domains.slots[row])
        if slot == self.domains.size:
            return
        if isinstance(self.term, ResolvedTerm):
            times = int(self.term.matches(pod))
        else:
            times = pod.terms.carried.count(self.term)
        if times:
            self.pods.setdefault(slot, []).extend([pod.key] * times)


class CountedTerms:
    """All terms that score nodes for a pod in one cycle.

    The pod itself, which may be assumed on its node by now, is not counted.
    """

    def __init__(
        self, pod: PodInfo, incoming: Incoming, existing: Existing, snapshot: Snapshot
    ) -> None:
        self.terms = [*_own_terms(incoming, snapshot), *_terms_of_others(existing, snapshot)]
        for row in snapshot.order.tolist():
            for other in snapshot.info(row).pods.values():
                for term in self.terms if other.uid != pod.uid else ():
                    term.count(other, row)

    def clone(self) -> CountedTerms:
        return self

    def details(self, row: int, snapshot: Snapshot) -> Iterator[Detail]:
        """Each term at one row of the snapshot, and the sum of their scores."""
        scores = []
        for term in self.terms:
            slot = int(term.domains.slots[row])
            scores.append(len(term.pods.get(slot, ())) * term.weight)
            yield _describe_term(term, slot, scores[-1], snapshot)
        counted = [operand(score) for score in scores if score]
        total = sum(scores)
        terms = f"{sum_text(counted)} = " if len(counted) > 1 else ""
        yield Detail(f"sum of what the terms add: {terms}{signed(total)}", {"score": total})


def describe_normalization(scores: Int64Array, place: int, result: int) -> Iterator[Detail]:
    """The place of a raw score between the smallest and the greatest one."""
    figures = raw_range(scores, place)
    raw, least, greatest = figures["raw"], figures["smallest"], figures["greatest"]
    if least == greatest:
        words = f"the raw score of every node is {signed(raw)}: each has 0"
    else:
        exact = Fraction(100 * (raw - least), greatest - least)
        words = (
            f"100 × ({signed(raw)} − {operand(least)}) / ({signed(greatest)} − {operand(least)}) = "
            f"{rounded(exact, result)}"
        )
        if exact != result and exact.denominator == 1:
            words += ", as the floating-point quotient is a little less"
    yield Detail(words, {**figures, "score": result})


def _own_terms(incoming: Incoming, snapshot: Snapshot) -> Iterator[CountedTerm]:
    for tally in incoming.preferred:
        for weight, term in tally.terms:
            near, away = TermKind.PREFERRED_AFFINITY, TermKind.PREFERRED_ANTI_AFFINITY
            kind = near if weight > 0 else away
            domains = snapshot.domains(tally.topology_key)
            yield CountedTerm(term, kind, weight, term.selector, domains, tally.topology_key)


def _terms_of_others(existing: Existing, snapshot: Snapshot) -> Iterator[CountedTerm]:
    for tally in existing.preferred:
        for carried, weight in tally.weights.items():
            domains, selector = snapshot.domains(tally.topology_key), carried.term.selector
            yield CountedTerm(carried, carried.kind, weight, selector, domains, tally.topology_key)


def _describe_term(term: CountedTerm, slot: int, score: int, snapshot: Snapshot) -> Detail:
    values = snapshot.label(term.key).values
    pods = term.pods.get(slot, [])
    figures = {
        "term": term.kind.value,
        "of": term.owner,
        "selector": _selector_text(term.selector),
        "namespaces": _namespaces(term),
        "topologyKey": term.key,
        "value": None if slot == term.domains.size else values[slot],
        "pods": len(pods),
        "weight": term.weight,
        "counts": score,
        "names": pods,
        "podsByValue": {values[at]: len(matching) for at, matching in sorted(term.pods.items())},
    }
    if slot == term.domains.size:
        return Detail(f"{_describe_owner(term)}: the node has no label {term.key}", figures)
    product = f"{len(pods)} × {operand(term.weight)} = {signed(score)}"
    named = f" ({list_names(pods)})" if pods else ""
    return Detail(
        f"{_describe_owner(term)}: {_count_pods(pods)} in {term.key}={values[slot]}{named}, "
        f"{product}",
        figures,
    )


def _describe_owner(term: CountedTerm) -> str:
    selector = _selector_text(term.selector)
    if term.owner == _OWN:
        return f"{term.kind.value} of the pod to pods with {selector}"
    return f"{term.kind.value} of running pods to pods with {selector}, which selects this pod"


def _namespaces(term: CountedTerm) -> list[str]:
    """The namespaces of the pods that the term selects; "*" for all."""
    if isinstance(term.term, ResolvedTerm):
        names = term.term.namespaces
        return ["*"] if names is None else sorted(names)
    written = term.term.term
    selector = written.namespace_selector
    if selector.everything:
        return ["*"]
    return [*sorted(written.namespaces), *([] if selector.nothing else [f"with {selector}"])]


def _selector_text(selector: Selector) -> str:
    return "no labels at all" if selector.nothing else str(selector) or "any labels"


def _count_pods(pods: Sequence[str]) -> str:
    return f"{len(pods)} pod{'' if len(pods) == 1 else 's'}"
