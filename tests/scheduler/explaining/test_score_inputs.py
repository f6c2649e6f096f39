"""Every score follows from its inputs, recomputed with formulas that are written down here.

They are those of kube-scheduler's documentation, of one node at a time, and read nothing but the
figures that a reader sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from apps.scheduler.decision import Decision
from apps.scheduler.explaining.scores import ScoredSight, ScoreInputs
from apps.scheduler.explaining.sight import look, look_back
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    DeviceClass,
    Namespace,
    ResourceClaim,
    ResourceSlice,
    Service,
    decode_as,
)
from apps.scheduler.plugins.registry import BUILT_IN
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add
from tests.scheduler.plugins.legacy.policies import scoring_by, under_policy
from tests.scheduler.topology_clusters import NODES, PODS, Dice

Figures = Sequence[Mapping[str, Any]]

SEEDS = range(12)
SHAPE = [
    {"utilization": 10, "score": 1},
    {"utilization": 40, "score": 9},
    {"utilization": 90, "score": 0},
]
RESOURCES = [
    {"name": "cpu", "weight": 3},
    {"name": "memory", "weight": 1},
    {"name": "example.com/gpu", "weight": 5},
]
MODELS = ("large", "medium", "small")
IMAGES = ("registry.example/a:v1", "registry.example/b:v1")
PROFILES: dict[str, list[dict[str, Any]]] = {
    "default": [],
    "least": [
        {
            "name": "NodeResourcesFit",
            "args": {"scoringStrategy": {"type": "LeastAllocated", "resources": RESOURCES}},
        },
        {
            "name": "NodeResourcesBalancedAllocation",
            "args": {"resources": [{**each, "weight": 1} for each in RESOURCES]},
        },
        {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}},
    ],
    "most": [
        {
            "name": "NodeResourcesFit",
            "args": {"scoringStrategy": {"type": "MostAllocated", "resources": RESOURCES}},
        },
        {
            "name": "NodeAffinity",
            "args": {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 4,
                            "preference": {
                                "matchExpressions": [{"key": "rack", "operator": "Exists"}]
                            },
                        }
                    ]
                }
            },
        },
    ],
    "ratio": [
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "resources": RESOURCES,
                    "requestedToCapacityRatio": {"shape": SHAPE},
                }
            },
        },
        {
            "name": "PodTopologySpread",
            "args": {
                "defaultingType": "List",
                "defaultConstraints": [
                    {
                        "maxSkew": 3,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "ScheduleAnyway",
                    }
                ],
            },
        },
    ],
}


def amount(text: str) -> Fraction:
    for unit, bits in (("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40)):
        if text.endswith(unit):
            return Fraction(text.removesuffix(unit)) * 2**bits
    return Fraction(text)


def devices(figures: Figures) -> int:
    return sum(8 - each["position"] for each in figures)


def half_up(value: Fraction | float) -> int:
    return math.floor(value + (Fraction(1, 2) if isinstance(value, Fraction) else 0.5))


def fit(strategy: str) -> Callable[[Figures], int]:
    def score(figures: Figures) -> int:
        rows = [each for each in figures if "resource" in each]
        total = weights = 0
        for each in rows:
            capacity = amount(each["allocatable"])
            used = min(amount(each["requested"]) + amount(each["pod"]), capacity)
            points = {
                "least": lambda u=used, c=capacity: (c - u) * 100 // c,
                "most": lambda u=used, c=capacity: u * 100 // c,
                "ratio": lambda u=used, c=capacity: on_shape(u * 100 // c),
            }[strategy]()
            if points or strategy != "ratio":
                total += points * each["weight"]
                weights += each["weight"]
        if not weights:
            return 0
        mean = Fraction(int(total), weights)
        return half_up(mean) if strategy == "ratio" else math.floor(mean)

    return score


def on_shape(utilization: Fraction) -> int:
    points = [(each["utilization"], each["score"] * 10) for each in SHAPE]
    if utilization <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if utilization <= x1:
            return y0 + math.trunc(Fraction(y1 - y0) * (utilization - x0) / (x1 - x0))
    return points[-1][1]


def balanced(figures: Figures) -> int:
    rows = [each for each in figures if "resource" in each]

    def evenness(*, with_pod: bool) -> int:
        shares = []
        for each in rows:
            used = amount(each["requested"]) + (amount(each["pod"]) if with_pod else 0)
            shares.append(min(float(used / amount(each["allocatable"])), 1.0))
        if len(shares) < 2:
            return 100
        if len(shares) == 2:
            return int((1 - abs(shares[0] - shares[1]) / 2) * 100)
        mean = sum(shares) / len(shares)
        variance = sum((share - mean) * (share - mean) for share in shares) / len(shares)
        return int((1 - math.sqrt(variance)) * 100)

    return 50 + (50 + evenness(with_pod=True) - evenness(with_pod=False)) // 2


def image_locality(figures: Figures) -> int:
    *images, limit = figures
    there = sum(
        int(each["size"] * (each["nodes"] / each["allNodes"])) for each in images if each["present"]
    )
    least, most = 23 * 2**20, 1000 * 2**20 * limit["containers"]
    return 100 * (min(max(there, least), most) - least) // (most - least)


def spread(figures: Figures) -> int:
    if any("missing" in each for each in figures):
        return 0
    return half_up(
        sum(
            each["matching"] * math.log(each["domains"] + 2) + (each["maxSkew"] - 1)
            for each in figures
            if each["value"] is not None
        )
    )


def inter_pod(figures: Figures) -> int:
    for each in figures:
        assert each["pods"] == len(each["names"])
        if each["value"] is not None:
            assert each["pods"] == each["podsByValue"].get(each["value"], 0)
    return sum(each["weight"] * len(each["names"]) for each in figures)


RAW: dict[str, Callable[[Figures], int]] = {
    "NodeResourcesBalancedAllocation": balanced,
    "NodeAffinity": lambda figures: sum(e["weight"] for e in figures if e["satisfied"]),
    "TaintToleration": lambda figures: sum(not each["tolerated"] for each in figures),
    "ImageLocality": image_locality,
    "InterPodAffinity": inter_pod,
    "PodTopologySpread": spread,
    "DynamicResources": devices,
}
NORMALIZED: dict[str, Callable[[int, int, int], int]] = {
    "NodeAffinity": lambda raw, least, most: 100 * raw // most if most else 0,
    "TaintToleration": lambda raw, least, most: 100 - 100 * raw // most if most else 100,
    "InterPodAffinity": lambda raw, least, most: (
        int(100 * ((raw - least) / (most - least))) if most > least else 0
    ),
    "PodTopologySpread": lambda raw, least, most: (
        100 * (most + least - raw) // most if most else 100
    ),
    "DynamicResources": lambda raw, least, most: 100 * raw // most if most else 0,
}


def random_pod(dice: Dice, pod: PodBuilder) -> PodBuilder:
    for resource, amounts in (
        ("cpu", ["250m", "1", "1333m"]),
        ("memory", ["300Mi", "1Gi", "1500M"]),
        ("example.com/gpu", ["1", "2"]),
    ):
        if dice.odds(0.6):
            pod.req({resource: dice.choice(amounts)})
    return pod


def random_scheduler(dice: Dice, scheduler: Scheduler) -> PodBuilder:
    """Fill the cluster; the pod to schedule."""
    for name, labels in (("red", {"team": "x"}), ("blue", {})):
        add(scheduler, decode_as(Namespace, {"metadata": {"name": name, "labels": labels}}))
    for name in NODES:
        node = dice.node(name).capacity(
            cpu=dice.choice(["8", "16"]), memory=dice.choice(["16Gi", "20G"]), pods=50
        )
        if dice.odds(0.6):
            node.capacity({"example.com/gpu": "8"})
        for image in IMAGES:
            if dice.odds(0.5):
                node.image(dice.choice([400, 900]) * 2**20, image)
        for key in "cd":
            if dice.odds(0.4):
                node.taint(key, effect="PreferNoSchedule")
        add(scheduler, node)
    for name in PODS:
        add(scheduler, random_pod(dice, dice.running(name, steady=True)))
    pod = random_pod(dice, dice.pod("incoming").uid("incoming")).image(IMAGES[0]).image(IMAGES[1])
    constraints = [
        {**dice.constraint(), "whenUnsatisfiable": "ScheduleAnyway"}
        for _ in range(dice.randint(0, 3))
    ]
    pod.spec(topologySpreadConstraints=[_without_minimum(each) for each in constraints])
    pod.toleration("a", operator="Exists").toleration("c", operator="Exists")
    for weight, key, values in ((3, "zone", "ab"), (5, "rack", "12")):
        if dice.odds(0.7):
            pod.prefers_in(weight, key, *values)
    if dice.odds(0.8):
        add_claims(dice, scheduler, pod)
    return pod


def add_claims(dice: Dice, scheduler: Scheduler, pod: PodBuilder) -> None:
    """Claims whose requests list models in the order of preference; one of them is allocated."""
    add(scheduler, *(decode_as(DeviceClass, device_class(model)) for model in MODELS))
    for node in NODES:
        add(scheduler, decode_as(ResourceSlice, random_slice(dice, node)))
    for number, allocated in enumerate((False, dice.odds(0.5), False)):
        claim = random_claim(dice, f"claim-{number}", pod.obj().metadata.namespace)
        if allocated:
            claim["status"] = {"allocation": allocation(dice, claim)}
        add(scheduler, decode_as(ResourceClaim, claim))
    references = [{"name": f"c{n}", "resourceClaimName": f"claim-{n}"} for n in range(3)]
    pod.spec(resourceClaims=references)


def device_class(model: str) -> dict[str, Any]:
    expression = f"device.attributes['gpu.example'].model == '{model}'"
    return {
        "metadata": {"name": model},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def random_slice(dice: Dice, node: str) -> dict[str, Any]:
    devices = [
        {"name": f"gpu-{place}", "attributes": {"model": {"string": dice.choice(MODELS)}}}
        for place in range(8)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "metadata": {"name": f"slice-{node}"},
        "spec": {"driver": "gpu.example", "pool": pool, "nodeName": node, "devices": devices},
    }


def random_claim(dice: Dice, name: str, namespace: str) -> dict[str, Any]:
    requests = []
    for number in range(dice.randint(1, 2)):
        models = sorted(MODELS, key=lambda _: dice.random())
        alternatives = [
            {"name": f"a{place}", "deviceClassName": model, "count": dice.randint(1, 2)}
            for place, model in enumerate(models)
        ]
        requests.append({"name": f"r{number}", "firstAvailable": alternatives})
    metadata = {"name": name, "namespace": namespace, "uid": name}
    return {"metadata": metadata, "spec": {"devices": {"requests": requests}}}


def allocation(dice: Dice, claim: dict[str, Any]) -> dict[str, Any]:
    """Devices of a driver that every node reaches."""
    results = [
        {
            "request": f"{request['name']}/{dice.choice(request['firstAvailable'])['name']}",
            "driver": "net.example",
            "pool": "shared",
            "device": f"{claim['metadata']['name']}-{request['name']}",
        }
        for request in claim["spec"]["devices"]["requests"]
    ]
    return {"devices": {"results": results}}


def _without_minimum(constraint: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in constraint.items() if key != "minDomains"}


def decide(
    scheduler: Scheduler, pod: PodBuilder, before: Scheduler | None = None
) -> tuple[Decision, list[ScoreInputs]]:
    """The decision, and the inputs of all its scores; ``before``: its state, without decisions."""
    add(scheduler, pod)
    decision = scheduler.schedule_one()
    assert decision is not None
    info = PodInfo(pod.obj())
    seen = look(before, info) if before is not None else look_back(scheduler, info)
    sight = ScoredSight(seen, decision)
    names = [decision.nodes[row] for row in decision.feasible]
    return decision, [sight.inputs(name, plugin) for name in names for plugin in decision.scores]


def check(decision: Decision, found: ScoreInputs, raw: Callable[[Figures], int]) -> None:
    figures = [detail.figures for detail in found.inputs]
    recorded = decision.scores_of(found.node)[found.plugin]
    assert (found.raw, found.normalized, found.weighted) == recorded
    assert found.gap == "" and figures[-1]["score"] == recorded[0], found
    assert raw(figures[:-1]) == recorded[0], found
    assert not found.normalization or found.normalization[-1].figures["score"] == recorded[1]


@pytest.mark.parametrize("profile", PROFILES)
def test_raw_and_normalized_scores_follow_from_the_inputs(
    new_scheduler: NewScheduler, profile: str
) -> None:
    seen: set[str] = set()
    for seed in SEEDS:
        configuration = {"profiles": [{"pluginConfig": PROFILES[profile]}]}
        scheduler, before = new_scheduler(configuration), new_scheduler(configuration)
        pod, _ = (random_scheduler(Dice(f"{profile}{seed}"), each) for each in (scheduler, before))
        decision, inputs = decide(scheduler, pod, before)
        strategy = "least" if profile == "default" else profile
        formulas = {**RAW, "NodeResourcesFit": fit(strategy)}
        for found in inputs:
            check(decision, found, formulas[found.plugin])
            normalize = NORMALIZED.get(found.plugin)
            shown = found.normalization[-1].figures if found.normalization else {}
            if normalize and "greatest" in shown:
                column = decision.scores[found.plugin].raw
                assert shown["greatest"] == column.max()
                expected = normalize(shown["raw"], shown["smallest"], shown["greatest"])
                assert expected == found.normalized, found
                seen.add(found.plugin)
            assert normalize or not found.normalization
    assert seen == set(NORMALIZED)


@pytest.mark.parametrize(
    "plugin",
    [
        "NodeResourcesLeastAllocated",
        "NodeResourcesMostAllocated",
        "RequestedToCapacityRatio",
        "NodeResourcesBalancedAllocationLegacy",
        "NodePreferAvoidPods",
        "SelectorSpread",
    ],
)
def test_scores_of_legacy_plugins_follow_from_the_inputs(plugin: str) -> None:
    def mean(figures: Figures) -> int:
        ratio = plugin == "RequestedToCapacityRatio"
        counted = [each for each in figures if each["score"] or not ratio]
        for each in counted:
            used = amount(each["used"]) / amount(each["allocatable"])
            expected = {
                "NodeResourcesLeastAllocated": (1 - used) * 100,
                "NodeResourcesMostAllocated": used * 100,
                "RequestedToCapacityRatio": (100 - (1 - used) * 100 // 1) / 10,
            }[plugin]
            assert each["score"] == max(0, math.floor(expected))
        weights = sum(each["weight"] for each in counted)
        total = Fraction(sum(each["score"] * each["weight"] for each in counted), weights or 1)
        return half_up(total) if ratio else math.floor(total)

    def difference(figures: Figures) -> int:
        cpu, memory = (float(amount(e["used"]) / amount(e["allocatable"])) for e in figures)
        return 0 if max(cpu, memory) >= 1 else int((1 - abs(cpu - memory)) * 100)

    formula = difference if plugin.endswith("Legacy") else mean
    if plugin == "SelectorSpread":
        scheduler = under_policy([], {"SelectorSpreadPriority": 1})
    else:
        scheduler = scoring_by(plugin)
    service = {"metadata": {"name": "s", "namespace": "red"}, "spec": {"selector": {"app": "x"}}}
    add(scheduler, decode_as(Service, service))
    pod = random_scheduler(Dice(3), scheduler).spec(topologySpreadConstraints=[], affinity={})
    decision, inputs = decide(scheduler, pod)
    counted = plugin.startswith(("NodeResources", "Requested"))
    for found in inputs:
        score = found.inputs[-1].figures["score"]
        check(decision, found, formula if counted else lambda _, given=score: given)
    assert len(inputs) > 2
    scheduler.close()


def test_every_plugin_that_scores_explains_its_scores() -> None:
    scoring = {name for name, plugin in BUILT_IN.items() if hasattr(plugin, "score")}
    assert all(hasattr(BUILT_IN[name], "explain_score") for name in scoring)
