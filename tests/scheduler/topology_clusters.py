"""Random clusters for topology spread and inter-pod affinity, from a seed.

Most things are alike, so that there is something to count: few labels, few domains, few namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.clock import VirtualClock
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Namespace, decode_as
from apps.scheduler.plugins.interpodaffinity.plugin import InterPodAffinity, InterPodAffinityArgs
from apps.scheduler.plugins.podtopologyspread.args import PodTopologySpreadArgs
from apps.scheduler.plugins.podtopologyspread.plugin import PodTopologySpread
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

HOSTNAME = "kubernetes.io/hostname"
KEYS = ("zone", "rack", HOSTNAME)
NODES = [f"n{number}" for number in range(7)]
PODS = [f"p{number}" for number in range(16)]
CHANGES = ("node", "no node", "pod", "pod", "pod", "no pod", "namespace")
NAMESPACES = ("red", "red", "red", "blue", "unlisted")


class Dice(Random):
    """Draws nodes, pods and changes."""

    def odds(self, chance: float) -> bool:
        return self.random() < chance

    def node(self, name: str) -> NodeBuilder:
        node = make_node(name)
        if self.odds(0.9):
            node.label("zone", self.choice(["", "a", "a", "b", "b", "c"]))
        if self.odds(0.85):
            node.label("rack", self.choice("123"))
        if self.odds(0.9):
            node.label(HOSTNAME, name if self.odds(0.9) else self.choice(NODES))
        if self.odds(0.2):
            node.taint(self.choice("ab"), effect=self.choice(["NoSchedule", "PreferNoSchedule"]))
        return node

    def pod(self, name: str) -> PodBuilder:
        pod = make_pod(name, self.choice(NAMESPACES)).label("app", self.choice("xxy"))
        if self.odds(0.4):
            pod.label("tier", self.choice("xy"))
        return pod.spec(affinity=self.affinity())

    def running(self, name: str, *, steady: bool = False) -> PodBuilder:
        pod = self.pod(name).on(self.choice(NODES))
        return pod.terminating() if not steady and self.odds(0.1) else pod

    def incoming(self) -> PodInfo:
        pod = self.pod("incoming")
        pod.spec(topologySpreadConstraints=[self.constraint() for _ in range(self.randint(0, 3))])
        if self.odds(0.5):
            pod.toleration("a", operator="Exists")
        if self.odds(0.3):
            pod.node_selector({"rack": self.choice("12")})
        return pod.info()

    def selector(self) -> dict[str, Any] | None:
        if self.odds(0.6):
            return {"matchLabels": {"app": "x"}}
        return self.choice([None, {}, {"matchExpressions": [self.expression()]}])

    def expression(self) -> dict[str, Any]:
        operator = self.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        expression: dict[str, Any] = {
            "key": self.choice(["app", "tier", "team"]),
            "operator": operator,
        }
        if operator in ("In", "NotIn"):
            expression["values"] = self.sample("xyz", self.randint(1, 2))
        return expression

    def constraint(self) -> dict[str, Any]:
        written = {
            "maxSkew": self.choice([1, 1, 2, 3]),
            "topologyKey": self.choice(KEYS),
            "whenUnsatisfiable": self.choice(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": self.selector(),
            "minDomains": self.choice([None, None, 1, 2, 4]),
            "nodeAffinityPolicy": self.choice(["Honor", "Ignore"]),
            "nodeTaintsPolicy": self.choice(["Honor", "Ignore"]),
        }
        return present(written)

    def term(self) -> dict[str, Any]:
        written = {
            "topologyKey": self.choice(KEYS),
            "labelSelector": self.selector(),
            "namespaces": self.choice([None, None, [], ["blue"], ["red", "unlisted"]]),
            "namespaceSelector": None,
        }
        if self.odds(0.3):
            written["namespaceSelector"] = self.choice(
                [{}, {"matchLabels": {"team": "x"}}, {"matchExpressions": [self.expression()]}]
            )
        return present(written)

    def affinity(self) -> dict[str, Any]:
        found = {}
        for kind in ("podAffinity", "podAntiAffinity"):
            if self.odds(0.35):
                found[kind] = {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        self.term() for _ in range(self.choice([0, 1, 1, 2]))
                    ],
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": self.randint(1, 3), "podAffinityTerm": self.term()}
                        for _ in range(self.choice([0, 1, 1, 2]))
                    ],
                }
        return found

    def changes(self, number: int, kinds: Sequence[str]) -> Iterator[tuple[str, Any]]:
        for _ in range(number):
            match self.choice(kinds):
                case "node":
                    yield "node", self.node(self.choice(NODES))
                case "pod":
                    yield "pod", self.running(self.choice(PODS))
                case "no node":
                    yield "no node", self.choice(NODES)
                case "no pod":
                    yield "no pod", self.choice(PODS)
                case _:
                    labels = {} if self.odds(0.4) else {"team": self.choice("xy")}
                    yield "namespace", (self.choice(["red", "blue"]), labels)


def present(written: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in written.items() if value is not None}


class Cluster:
    """A cache with a snapshot and the two plugins; the nodes as plain objects for the reference."""

    def __init__(
        self,
        *,
        hard_weight: int = 1,
        ignore_preferred: bool = False,
        spread: PodTopologySpreadArgs | None = None,
    ) -> None:
        self.cache, self.snapshot = Cache(), Snapshot()
        handle = Handle(self.snapshot, self.cache.listers, Nominator(), VirtualClock())
        self.spread = PodTopologySpread(spread, handle)
        self.affinity = InterPodAffinity(
            InterPodAffinityArgs(
                hard_pod_affinity_weight=hard_weight,
                ignore_preferred_terms_of_existing_pods=ignore_preferred,
            ),
            handle,
        )

    def fill(self, dice: Dice, *, steady: bool = False) -> None:
        for name in NODES:
            self.change("node", dice.node(name))
        for name in PODS:
            self.change("pod", dice.running(name, steady=steady))
        self.change("namespace", ("red", {"team": "x"}))
        self.snapshot.update(self.cache)

    def change(self, what: str, item: Any) -> None:
        match what:
            case "node":
                self.cache.add_node(item.obj())
            case "no node":
                if item in self.cache.nodes and self.cache.nodes[item].node is not None:
                    self.cache.remove_node(item)
            case "pod":
                pod = item.info()
                self.change("no pod", pod.name)
                self.cache.add_pod(pod)
            case "no pod":
                for uid in [uid for uid in self.cache.pods if uid.endswith(f"/{item}")]:
                    self.cache.remove_pod(uid)
            case _:
                name, labels = item
                body = {"metadata": {"name": name, "labels": labels}}
                self.cache.listers.namespaces.put(decode_as(Namespace, body))

    @property
    def rows(self) -> Int64Array:
        return np.flatnonzero(self.snapshot.alive)

    def infos(self, rows: Int64Array) -> list[NodeInfo]:
        return [self.cache.nodes[self.snapshot.names[row]] for row in rows]

    @property
    def namespaces(self) -> dict[str, Mapping[str, str]]:
        return {each.metadata.name: each.metadata.labels for each in self.cache.listers.namespaces}
