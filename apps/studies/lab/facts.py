"""The smallest sets of facts without which a recorded decision would have come out otherwise.

A fact is a part of the pod's spec, a taint or the cordon of a node, or a pod on a node. Every set
is proven: the decision is made again without it, and without each part that is smaller by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.ledger.records import DecisionRecord
from apps.engine.models import SchedulingDecision
from apps.engine.results.scores import score_matrix
from apps.engine.results.weighing import recorded_rule
from apps.scheduler.decision import Decision
from apps.scheduler.framework.types import PodInfo
from apps.studies.explanations.states import GAPS, describe_gap
from apps.studies.lab.deciding_weights import find_deciding_weights
from apps.studies.lab.edits import Edit, delete_pod, edited, patch_node, patch_pod
from apps.studies.rebuilding import PastState, rebuild_state_before
from apps.studies.rebuilding.previewing import Effect, compare_outcomes
from apps.studies.rebuilding.replaying import CannotRecompute, decide_again

#: At most so many sets are tried: about a second of work. Not bound by time, which would make the
#: answer depend on the load of the machine.
_MOST_TRIES: Final = 200
_FEWEST_TRIES: Final = 20
_NODES_EVALUATED: Final = 400_000
#: How many nodes are looked at for taints and pods, how many pods of one are tried together.
_NODES: Final = 12
_PODS: Final = 5
_AFFINITIES: Final = {
    "nodeAffinity": "node affinity",
    "podAffinity": "pod affinity",
    "podAntiAffinity": "pod anti-affinity",
}


FactKind: TypeAlias = Literal["pod", "taint", "cordon", "running-pod", "weight"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a decision saw."""

    kind: FactKind
    sentence: str
    #: names the fact, to follow "without"
    part: str
    #: whose taint, cordon or pod it is; empty for a fact about the pod of the decision, and for
    #: weights
    node: str = ""

    ANSWER: ClassVar = ("kind", "sentence", "node")


@dataclass(frozen=True, slots=True)
class FactSet:
    """Facts without which the decision comes out otherwise, and with any of them does not."""

    facts: Sequence[Fact]
    effect: Effect
    #: the node that is selected or nominated without them; empty if none is
    node: str
    sentence: str


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """The facts that a decision depended on."""

    #: the smallest first
    sets: Sequence[FactSet]
    #: how often it was decided again
    tried: int
    #: false if there were more sets than are tried
    is_complete: bool


def find_facts(row: SchedulingDecision, record: DecisionRecord) -> FoundFacts:
    """Try single facts, then pods of one node together; `record` is the row's.

    Raises BadRequest if the state of the decision can no longer be rebuilt.
    """
    try:
        search = _Search(rebuild_state_before(row), row, record.decision)
        facts = search.run()
    except GAPS as failure:
        if isinstance(failure, BadRequest):
            raise
        raise BadRequest(f"facts: {describe_gap(failure)}") from failure
    except CannotRecompute as failure:
        raise BadRequest(f"facts: {failure}") from failure
    sets = [*facts.sets, *_of_weights(record)]
    return replace(facts, sets=sorted(sets, key=lambda each: len(each.facts)))


def _of_weights(record: DecisionRecord) -> Iterator[FactSet]:
    """The weights that decided. They follow from the recorded scores, without the state."""
    matrix = score_matrix(record.decision)
    rule = recorded_rule(matrix, by_name=record.draws.tie_break == Cluster.TieBreak.FIRST_NAME)
    for each in find_deciding_weights(matrix, rule):
        facts = [
            Fact("weight", f"{name} weighs {n}", f"the weight {n} of {name}")
            for name, n in each.recorded.items()
        ]
        yield FactSet(facts, Effect.OTHER_NODE, each.node, each.sentence)


class _Search:
    def __init__(self, state: PastState, row: SchedulingDecision, recorded: Decision) -> None:
        self._state, self._row, self._recorded = state, row, recorded
        tries = _NODES_EVALUATED // max(1, recorded.total_nodes)
        self._most = max(_FEWEST_TRIES, min(tries, _MOST_TRIES))
        self._tried = 0
        self._is_complete = True

    def run(self) -> FoundFacts:
        pod = self._state.pod(str(self._row.pod_uid))
        if pod is None:
            raise CannotRecompute("the pod was not pending at that version")
        sets = [
            each
            for fact, edit in (*_of_pod(pod), *self._of_nodes())
            if (each := self._try([fact], [edit])) is not None
        ]
        for node in self._nodes():
            sets += self._pods_of(node, pod)
        sets.sort(key=lambda each: len(each.facts))
        return FoundFacts(sets, self._tried, self._is_complete)

    def _nodes(self) -> list[str]:
        """The selected node, those that missed it by least, and the first rejected ones."""
        decision = self._recorded
        names = [decision.node] if decision.node else []
        order = decision.total.argsort(kind="stable")[::-1] if len(decision.total) else ()
        names += [decision.nodes[decision.feasible[place]] for place in order][: _NODES // 2]
        left = (name for name in decision.nodes if name and name not in names)
        return [*names, *islice(left, max(0, _NODES - len(names)))]

    def _of_nodes(self) -> Iterator[tuple[Fact, Edit]]:
        for name in self._nodes():
            info = self._state.scheduler.cache.nodes.get(name)
            if info is None or info.node is None:
                continue
            spec = info.node.spec
            if spec.unschedulable:
                yield (
                    Fact("cordon", f"{name} is cordoned", f"the cordon of {name}", name),
                    patch_node(name, {"spec": {"unschedulable": None}}),
                )
            for number, taint in enumerate(spec.taints):
                others = [*spec.taints[:number], *spec.taints[number + 1 :]]
                value = f"{taint.key}={taint.value}" if taint.value else taint.key
                text = f"the taint {value}:{taint.effect}"
                yield (
                    Fact("taint", f"{name} has {text}", f"{text} on {name}", name),
                    patch_node(name, {"spec": {"taints": msgspec.to_builtins(others)}}),
                )

    def _pods_of(self, node: str, pod: PodInfo) -> Iterator[FactSet]:
        """The pods of a node: each alone, else the fewest of the largest ones together."""
        info = self._state.scheduler.cache.nodes.get(node)
        running = list(info.pods.values()) if info is not None and info.node is not None else []
        running.sort(key=lambda each: (-_size(each, pod), each.key))
        chosen: list[PodInfo] = []
        alone = False
        for each in running[:_PODS]:
            single = self._try([_running(each)], [delete_pod(each.key)])
            if single is not None:
                alone = True
                yield single
            chosen.append(each)
        if alone:
            return
        for count in range(2, len(chosen) + 1):
            if (together := self._try_pods(chosen[:count])) is not None:
                yield self._reduce(chosen[:count], together)
                return

    def _reduce(self, pods: list[PodInfo], known: FactSet) -> FactSet:
        """Leave out pods of a set as long as the decision still comes out otherwise."""
        for pod in list(pods):
            fewer = [each for each in pods if each is not pod]
            if len(fewer) > 1 and (reduced := self._try_pods(fewer)) is not None:
                pods, known = fewer, reduced
        return known

    def _try_pods(self, pods: Sequence[PodInfo]) -> FactSet | None:
        return self._try([_running(each) for each in pods], [delete_pod(each.key) for each in pods])

    def _try(self, facts: Sequence[Fact], edits: Iterable[Edit]) -> FactSet | None:
        """Decide again without the facts; None if it comes out the same, or enough were tried."""
        if self._tried >= self._most:
            self._is_complete = False
            return None
        self._tried += 1
        with edited(self._state, edits):
            again = decide_again(self._state, self._row, self._recorded)
            effect = compare_outcomes(self._recorded, again)
        if not effect.differs:
            return None
        nominated = again.nominating.nominated_node if again.nominating is not None else ""
        node = again.node or nominated
        return FactSet(tuple(facts), effect, node, _describe(facts, effect, node))


def _of_pod(pod: PodInfo) -> Iterator[tuple[Fact, Edit]]:
    """Each rule in the pod's spec, and how the pod is without it."""
    spec: Mapping[str, Any] = msgspec.to_builtins(pod.pod.spec)

    def without(path: Sequence[str], value: Any = None) -> Edit:
        patch: Any = value
        for key in reversed(("spec", *path)):
            patch = {key: patch}
        return patch_pod(pod.uid, patch)

    for key, value in spec.get("nodeSelector", {}).items():
        text = f"{key}={value}"
        fact = Fact("pod", f"the pod's node selector has {text}", f"{text} in its node selector")
        yield fact, without(["nodeSelector", key])
    for kind, words in _AFFINITIES.items():
        for rule in spec.get("affinity", {}).get(kind, {}):
            word = "required" if rule.startswith("required") else "preferred"
            yield _rule(f"{word} {words}"), without(["affinity", kind, rule])
    for name in ("tolerations", "topologySpreadConstraints"):
        listed = spec.get(name, ())
        for number, each in enumerate(listed):
            others = [*listed[:number], *listed[number + 1 :]]
            yield _rule(_describe_entry(each), "a "), without([name], others)
    if spec.get("priority"):
        yield _rule(f"priority {spec['priority']}"), without(["priority"], 0)


def _rule(text: str, article: str = "") -> Fact:
    return Fact("pod", f"the pod has {article}{text}", f"its {text}")


def _describe_entry(entry: Mapping[str, Any]) -> str:
    """A toleration or a topology spread constraint."""
    if key := entry.get("topologyKey"):
        words = f"topology spread constraint over {key}"
        return f"{words} ({entry.get('whenUnsatisfiable')}, maxSkew {entry.get('maxSkew')})"
    key, value, effect = (entry.get(name) or "" for name in ("key", "value", "effect"))
    taint = f"{key}={value}" if value else key or "every taint"
    return f"toleration of {taint}:{effect}" if effect else f"toleration of {taint}"


def _size(each: PodInfo, pod: PodInfo) -> float:
    """The share of the pod's requests that the other pod takes, of the scarcest resource."""
    return max(
        (each.requests.get(name, 0) / amount for name, amount in pod.requests.items() if amount),
        default=0.0,
    )


def _running(pod: PodInfo) -> Fact:
    node = pod.pod.spec.node_name
    return Fact("running-pod", f"pod {pod.key} is on {node}", f"pod {pod.key} on {node}", node)


def _describe(facts: Sequence[Fact], effect: Effect, node: str) -> str:
    without = " and ".join(each.part for each in facts)
    verb = "nominated" if effect is Effect.OTHER_NOMINATION else "selected"
    return f"Without {without}, {node or 'no node'} would be {verb}."
