"""A run that contains everything that a decision may depend on."""

from __future__ import annotations

import random
from typing import Any

import yaml

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster, Node, Pod
from apps.cluster.writes import Create, Delete, Update, Write
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.profiles import revisions
from apps.scheduler.config import API_VERSION, KIND
from tests.engine.driving import ACTOR, Body

NODES = 110
ZONES = 4
ROUNDS = 20
PODS_A_ROUND = 40
PRIORITIES = {"low": 1, "middle": 50, "high": 900}
APPS = ("web", "api", "db", "batch")
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def busy_run(seed: int) -> Cluster:
    """A cluster with a history: more than a thousand pods, scheduled by several engines."""
    chance = random.Random(seed)
    cluster = create_cluster("busy", user="tests", seed=seed)
    clock.set_manual(cluster)
    configure(cluster, percentage=0)
    store.write(cluster, [*_nodes(range(NODES)), *_other_objects()], actor=ACTOR)
    engines = Engines()
    for number in range(ROUNDS):
        _write(cluster, [*_pods(chance, number), *_incidents(chance, cluster, number)])
        if number % 6 == 5:
            engines.close()
            engines = Engines()
        if number % 9 == 8:
            configure(cluster, percentage=number * 5)
        clock.advance(cluster, chance.choice((1.0, 3.0, 15.0, 70.0)))
        engines.run(cluster.pk)
    engines.close()
    return cluster


def configure(cluster: Cluster, *, percentage: int) -> None:
    """Three profiles: the default one, one that packs nodes, one that delays pods in Permit."""
    packing = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}
    text = yaml.safe_dump(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "percentageOfNodesToScore": percentage,
            "profiles": [
                {"schedulerName": "default-scheduler"},
                {
                    "schedulerName": "packing",
                    "pluginConfig": [
                        {"name": "NodeResourcesFit", "args": {"scoringStrategy": packing}}
                    ],
                },
                {
                    "schedulerName": "careful",
                    "plugins": {"multiPoint": {"enabled": [{"name": "Gatekeeper"}]}},
                },
            ],
        }
    )
    revisions.add_revision(cluster, text, user="tests")


def _nodes(numbers: range) -> list[Write]:
    return [Create(kinds.NODE, _node(number)) for number in numbers]


def _node(number: int) -> Body:
    zone = f"zone-{number % ZONES}"
    node = generate_node(f"node-{number:03}", zone, cpu=str(2 + number % 3), memory="8Gi")
    node["metadata"]["labels"]["disk"] = "ssd" if number % 2 else "hdd"
    node["status"]["images"] = [
        {"names": [f"image-{number % 5}"], "sizeBytes": (number % 7 + 1) * 100_000_000}
    ]
    if number % 11 == 0:
        taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
        node["spec"] = {"taints": [taint]}
    if number % 13 == 0:
        taint = {"key": "old", "effect": "PreferNoSchedule"}
        node["spec"] = {"taints": [*(node.get("spec") or {}).get("taints", []), taint]}
    return node


def _other_objects() -> list[Write]:
    """Priority classes, a disruption budget, a service, volumes bound on first use."""
    classes = [
        Create(kinds.PRIORITY_CLASS, {"metadata": {"name": name}, "value": value})
        for name, value in PRIORITIES.items()
    ]
    budget = {
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    service = {
        "metadata": {"name": "api"},
        "spec": {"selector": {"app": "api"}, "ports": [{"port": 80}]},
    }
    storage = {
        "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return [
        *classes,
        Create(kinds.by_name("PodDisruptionBudget"), budget, "default"),
        Create(kinds.by_name("Service"), service, "default"),
        Create(kinds.by_name("StorageClass"), storage),
        *(Create(kinds.by_name("PersistentVolume"), _volume(number)) for number in range(60)),
    ]


def _volume(number: int) -> Body:
    values = [f"node-{number * 2:03}", f"node-{number * 2 + 1:03}"]
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": values}]}
    return {
        "metadata": {"name": f"volume-{number:02}"},
        "spec": {
            "capacity": {"storage": f"{1 + number % 4}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def _pods(chance: random.Random, round_number: int) -> list[Write]:
    writes: list[Write] = []
    for number in range(PODS_A_ROUND):
        app = chance.choice(APPS)
        name = f"{app}-{round_number:02}-{number:02}"
        body = _pod(chance, name, app)
        if chance.random() < 0.08:
            writes.append(Create(kinds.by_name("PersistentVolumeClaim"), _claim(name), "default"))
            body["spec"]["volumes"] = [
                {"name": "data", "persistentVolumeClaim": {"claimName": name}}
            ]
        writes.append(Create(kinds.POD, body, "default"))
    return writes


def _claim(name: str) -> Body:
    return {
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "resources": {"requests": {"storage": "2Gi"}},
        },
    }


def _pod(chance: random.Random, name: str, app: str) -> Body:
    cpu = chance.choice(("100m", "250m", "500m", "1", "1500m"))
    resources = {"requests": {"cpu": cpu, "memory": chance.choice(("128Mi", "512Mi", "1Gi"))}}
    container: Body = {
        "name": "main",
        "image": f"image-{chance.randrange(6)}",
        "resources": resources,
    }
    if chance.random() < 0.05:
        container["ports"] = [{"containerPort": 80, "hostPort": 8000 + chance.randrange(3)}]
    labels = {"app": app, "tier": chance.choice(("front", "back"))}
    spec: Body = {
        "containers": [container],
        "terminationGracePeriodSeconds": chance.choice((0, 30)),
        "schedulerName": chance.choice(("default-scheduler",) * 3 + ("packing", "careful")),
        "priorityClassName": chance.choice((*("low",) * 4, "middle", "high")),
    }
    if spec["schedulerName"] == "careful" and chance.random() < 0.3:
        name = f"held-{name}"
    spec |= chance.choice(({}, {}, {}, *_constraints(app)))
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def _constraints(app: str) -> list[Body]:
    """Constraints that a pod may have, as parts of its spec."""
    selector = {"matchLabels": {"app": app}}
    near = {"labelSelector": selector, "topologyKey": ZONE}
    apart = {"labelSelector": {"matchLabels": {"app": app, "tier": "front"}}}
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    weighted = {"weight": 10, "podAffinityTerm": {**near, "topologyKey": HOSTNAME}}
    skew = {"maxSkew": 1, "labelSelector": selector}
    return [
        {"nodeSelector": {"disk": "ssd"}},
        {"affinity": {"nodeAffinity": {preferred: [{"weight": 5, "preference": term}]}}},
        {"affinity": {"podAffinity": {preferred: [weighted]}}},
        {"affinity": {"podAntiAffinity": {required: [{**apart, "topologyKey": HOSTNAME}]}}},
        {"affinity": {"podAffinity": {required: [near]}}},
        {
            "topologySpreadConstraints": [
                {**skew, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                {**skew, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
            ]
        },
        {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
        {"nodeSelector": {"disk": "tape"}},
        {"schedulingGates": [{"name": "example.com/quota"}]},
    ]


def _incidents(chance: random.Random, cluster: Cluster, number: int) -> list[Write]:
    """Update, add and delete nodes, delete and relabel pods."""
    names = list(Node.objects.filter(cluster=cluster).values_list("name", flat=True))
    found: list[Write] = []
    for name in chance.sample(names, 4):
        found.append(Update(kinds.NODE, "", name, _change_node(chance)))
    if number % 3 == 1:
        found.append(Delete(kinds.NODE, "", chance.choice(names)))
        found.append(Create(kinds.NODE, _node(200 + number)))
    pods = list(Pod.objects.filter(cluster=cluster).values_list("name", flat=True))
    for name in chance.sample(pods, min(len(pods), 10)):
        found.append(Delete(kinds.POD, "default", name))
    for name in chance.sample(pods, min(len(pods), 4)):
        found.append(Update(kinds.POD, "default", name, _relabel(chance)))
    return found


def _change_node(chance: random.Random) -> Any:
    kind, zone = chance.randrange(4), f"zone-{chance.randrange(ZONES)}"

    def change(node: Body) -> Body:
        spec = dict(node.get("spec") or {})
        labels = dict(node["metadata"]["labels"])
        if kind == 0:
            spec["unschedulable"] = not spec.get("unschedulable", False)
        elif kind == 1:
            spec["taints"] = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
        elif kind == 2:
            labels[ZONE] = zone
        else:
            labels["disk"] = "ssd"
        return {**node, "metadata": {**node["metadata"], "labels": labels}, "spec": spec}

    return change


def _relabel(chance: random.Random) -> Any:
    app = chance.choice(APPS)

    def change(pod: Body) -> Body:
        labels = {**pod["metadata"].get("labels", {}), "app": app}
        return {**pod, "metadata": {**pod["metadata"], "labels": labels}}

    return change


def _write(cluster: Cluster, writes: list[Write]) -> None:
    """Write them; refused updates and deletions (the pod was deleted meanwhile) are ignored."""
    outcomes = store.write(cluster, writes, actor=ACTOR, collect_refusals=True)
    unexpected = [
        outcome
        for write, outcome in zip(writes, outcomes, strict=True)
        if isinstance(outcome, ApiError) and isinstance(write, Create)
    ]
    assert not unexpected, unexpected
