"""A site with contents on every page."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.administration.operations import (
    previewing,
    recorded_decisions,
    replays,
    running,
    scenarios,
)
from apps.administration.webhooks import service
from apps.cluster import kinds
from apps.cluster.models import Change, Cluster, Pod
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.ledger import saved_views
from apps.engine.loop.engines import Engines
from apps.engine.models import Operation, PastCluster, SchedulingDecision
from apps.engine.profiles import drafts, revisions
from apps.engine.series import sampling
from apps.studies.replay.span import ReplayRequest
from apps.studies.scenarios.examples import list_examples
from tests.browser import pages
from tests.studies.classes.a_class import create_class
from tests.studies.scenarios import test_recorded_decisions as recordings

ACTOR = Actor("admin")

#: The configuration of a second revision.
PACKING = """\
  plugins:
    score:
      enabled:
      - {name: NodeResourcesFit, weight: 5}
"""


def furnish() -> dict[str, Any]:
    """Create the clusters of the site, and return the parameters of the paths of pages."""
    lab = create_cluster("lab", user="admin", nodes=60, zones=3, seed=1)
    create_cluster("bare", user="admin", paused=True)
    delete_cluster(create_cluster("old", user="admin", nodes=2), user="admin")
    _create_external()
    create_class("spring", user="admin")
    _create_long_names()
    _create_nodes(lab)
    _create_pods(lab)
    _create_replicas(lab)
    engines = Engines()
    engines.run(lab.pk)
    _create_past(lab)
    engines.run(lab.pk)
    sampling.sample(lab.pk)
    return places(lab)


def places(cluster: Cluster) -> dict[str, Any]:
    decisions = SchedulingDecision.objects.filter(cluster=cluster)
    return {
        **_create_operations(cluster),
        "view": _create_view(cluster),
        "scheduled": decisions.filter(result="scheduled", name="web-119").get().pk,
        "failed": decisions.filter(result="unschedulable", name="huge").latest("pk").pk,
        "preempting": decisions.exclude(nominated_node="").latest("pk").pk,
        "past": PastCluster.objects.get(name="old").pk,
        "gone": decisions.filter(name="web-0").latest("pk").pod_uid,
        "moving": Pod.objects.filter(cluster=cluster, name__startswith="api-")
        .latest("pk")
        .node_name,
        "webhook": _create_webhook(cluster),
        "replay": _create_replay(cluster),
        "long": SchedulingDecision.objects.filter(cluster__name=pages.LONG_CLUSTER).latest("pk").pk,
        "change": Change.objects.filter(cluster=cluster, name="web-1").latest("version").version,
    }


def _create_replay(cluster: Cluster) -> int:
    """A replay under a configuration that fills nodes instead of spreading pods."""
    text = revisions.BUILT_IN + (
        "  pluginConfig:\n  - {name: NodeResourcesFit, args: "
        "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 9}]}}}\n"
    )
    cluster.refresh_from_db()
    operation = replays.start_replay(cluster, ReplayRequest(configuration=text), actor=ACTOR)
    running.run(operation.pk)
    return operation.pk


def _create_webhook(cluster: Cluster) -> int:
    """A webhook with a delivery that was accepted, and one that was not."""
    kinds = ["pod.unschedulable", "operation.ended"]
    hook = service.add_webhook(cluster, "https://hooks.example.com/pods", kinds, user="admin")
    for state, code, answer in (("succeeded", 200, "ok"), ("waiting", 503, "try again later")):
        delivery = service.send_test(hook)
        delivery.state, delivery.status_code, delivery.answer = state, code, answer
        delivery.attempts, delivery.duration_ms = 1, 12
        delivery.save()
    return hook.pk


def _create_external() -> None:
    """A cluster with an external scheduler: a second opinion rejects one of its two bindings."""
    cluster = create_cluster("external", user="admin", nodes=2, scheduling="external")
    pods = [_pod("web-0"), _pod("web-1", cpu="64")]
    store.write(cluster, [Create(kinds.POD, pod, "default") for pod in pods], actor=ACTOR)
    engines = Engines()
    engines.run(cluster.pk)
    for pod in pods:
        binding = {"target": {"kind": "Node", "name": "node-0"}}
        store.bind(cluster, "default", pod["metadata"]["name"], binding, actor=Actor("guest"))
    engines.run(cluster.pk)


def _create_long_names() -> None:
    """A cluster, a node, a pod, labels and resources with the longest names."""
    cluster = create_cluster(pages.LONG_CLUSTER, user="admin", nodes=2)
    node = generate_node("long", "zone-1")
    labels = {pages.LONG_LABEL: pages.LONG_LABEL, "topology.kubernetes.io/zone": pages.LONG_LABEL}
    node["metadata"] = {"name": pages.LONG_NAME, "labels": labels}
    node["spec"] = {"taints": [{"key": pages.LONG_LABEL, "effect": "NoSchedule"}]}
    resources = {f"vendor-{number:02}.example.com/{'g' * 40}": "8" for number in range(20)}
    for amounts in (node["status"]["allocatable"], node["status"]["capacity"]):
        amounts |= resources
    store.create_many(cluster, [(kinds.NODE, node)], actor=ACTOR)
    pod = _pod("long", nodeSelector={pages.LONG_LABEL: pages.LONG_LABEL})
    pod["metadata"] |= {"name": pages.LONG_NAME, "labels": {pages.LONG_LABEL: pages.LONG_LABEL}}
    container = pod["spec"]["containers"][0]
    container["resources"] = {"requests": resources, "limits": resources}
    store.write(cluster, [Create(kinds.POD, pod, "default")], actor=ACTOR)
    Engines().run(cluster.pk)
    sampling.sample(cluster.pk)


def _create_past(lab: Cluster) -> None:
    """A deleted pod, a preempting pod, a disruption budget, a second revision."""
    gone: dict[str, Any] = {"gracePeriodSeconds": 0}
    store.delete(lab, kinds.POD, "default", "web-0", actor=ACTOR, options=gone)
    budget = {
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}},
    }
    kind = kinds.by_name("PodDisruptionBudget")
    store.write(lab, [Create(kind, budget, "default")], actor=ACTOR)
    high = {"metadata": {"name": "high"}, "value": 1000}
    store.create(lab, kinds.PRIORITY_CLASS, high, actor=ACTOR)
    vip = _pod("vip", cpu="7500m", priorityClassName="high")
    store.write(lab, [Create(kinds.POD, vip, "default")], actor=ACTOR)
    packing = revisions.BUILT_IN + PACKING
    revisions.add_revision(lab, packing, user="admin", name="packing", note="pack the nodes")
    wrong = packing.replace("percentageOfNodesToScore: 100", "percentageOfNodesToScore: 300")
    drafts.save_draft(lab, "wip", wrong, user="admin", note="not ready")


def _create_view(cluster: Cluster) -> int:
    query = {"group": "pod", "result": "unschedulable", "plugin": "NodeResourcesFit"}
    name = "without room for their requests"
    return saved_views.create_view(cluster, "admin", name=name, query=query, shared=True).pk


def _create_operations(cluster: Cluster) -> dict[str, int]:
    """A failed operation and a running one."""
    failed = Operation.objects.create(
        kind="create-from-trace",
        title="Create cluster openb from a trace",
        state="failed",
        cause="pods.csv, line 12: column cpu_milli: 'many' is not a non-negative integer",
        user="admin",
        attempts=1,
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )
    at_work = Operation.objects.create(
        kind="drain",
        title="Drain node-07",
        cluster=cluster,
        arguments={"node": "node-07"},
        state="running",
        done=1,
        total=3,
        message="web-7 waits: the disruption budget web needs 3 healthy pods and has 3 currently",
        user="admin",
        attempts=1,
        started_at=timezone.now(),
    )
    spread = revisions.BUILT_IN.replace("100", "5") + PACKING
    previewed = previewing.start_preview(
        cluster, spread, subject="draft spread", actor=ACTOR, decisions=60
    )
    text = list_examples()["07-bin-packing"].text
    scenario = scenarios.start(text, {}, actor=ACTOR)
    recorded = recorded_decisions.start(
        recordings.lines(third={**recordings.THIRD, "selected_node": "n3"}).decode(),
        "record.jsonl",
        recordings.encode(recordings.CONFIGURATION),
        actor=ACTOR,
    )
    for each in (previewed, scenario, recorded):
        running.run(each.pk)
    return {
        "failed_operation": failed.pk,
        "operation": at_work.pk,
        "preview": previewed.pk,
        "scenario": scenario.pk,
        "recorded": recorded.pk,
    }


def _create_nodes(lab: Cluster) -> None:
    dedicated = generate_node("gpu-1", "zone-1", cpu="32", memory="128Gi")
    dedicated["spec"] = {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}
    for amounts in (dedicated["status"]["allocatable"], dedicated["status"]["capacity"]):
        amounts["example.com/gpu"] = "4"
    cordoned = generate_node("old-1", "zone-2", cpu="4", memory="8Gi")
    cordoned["spec"] = {"unschedulable": True}
    broken = generate_node("broken-1", "zone-3")
    broken["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
    ]
    nodes = [(kinds.NODE, body) for body in (dedicated, cordoned, broken)]
    store.create_many(lab, nodes, actor=ACTOR)


def _create_pods(lab: Cluster) -> None:
    sizes = (("500m", "512Mi"), ("2", "4Gi"), ("4", "1Gi"), ("1", "8Gi"))
    pods = [
        _pod(f"web-{number}", cpu=sizes[number % 4][0], memory=sizes[number % 4][1])
        for number in range(120)
    ]
    pods += [
        _pod("huge", cpu="100"),
        _pod("held", schedulingGates=[{"name": "example.com/quota"}]),
        _pod("train", cpu="8", tolerations=[{"key": "dedicated", "operator": "Exists"}]),
    ]
    store.write(lab, [Create(kinds.POD, pod, "default") for pod in pods], actor=ACTOR)


def _create_replicas(lab: Cluster) -> None:
    """Pods that a controller replaces."""
    template = _pod("api", cpu="500m")
    del template["metadata"]["name"]
    body = {
        "metadata": {"name": "api"},
        "spec": {
            "replicas": 6,
            "selector": {"matchLabels": {"app": "api"}},
            "template": template,
        },
    }
    kind = kinds.by_name("ReplicaSet")
    store.write(lab, [Create(kind, body, "default")], actor=ACTOR)


def _pod(name: str, *, cpu: str = "1", memory: str = "1Gi", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    container = {"name": "main", "image": "example/main:1", "resources": resources}
    labels = {"app": name.split("-")[0]}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [container], **spec},
    }
