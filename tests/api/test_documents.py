"""The manifests of the Kubernetes documentation, posted as they stand, do what their page says."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apps.cluster.models import Cluster, Pod
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueEntry
from apps.engine.profiles import revisions
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node

pytestmark = pytest.mark.django_db(transaction=True)

PATHS = {
    "Pod": PODS,
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "ResourceQuota": "/api/v1/namespaces/default/resourcequotas",
    "LimitRange": "/api/v1/namespaces/default/limitranges",
    "PodGroup": "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups",
}

# Assigning Pods to Nodes

WITH_NODE_AFFINITY = """
apiVersion: v1
kind: Pod
metadata:
  name: with-node-affinity
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - key: topology.kubernetes.io/zone
            operator: In
            values:
            - antarctica-east1
            - antarctica-west1
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        preference:
          matchExpressions:
          - key: another-node-label-key
            operator: In
            values:
            - another-node-label-value
  containers:
  - name: with-node-affinity
    image: registry.k8s.io/pause:3.8
"""
WITH_POD_AFFINITY = """
apiVersion: v1
kind: Pod
metadata:
  name: with-pod-affinity
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector:
          matchExpressions:
          - key: security
            operator: In
            values:
            - S1
        topologyKey: topology.kubernetes.io/zone
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          labelSelector:
            matchExpressions:
            - key: security
              operator: In
              values:
              - S2
          topologyKey: topology.kubernetes.io/zone
  containers:
  - name: with-pod-affinity
    image: registry.k8s.io/pause:3.8
"""

# Taints and Tolerations

WITH_TOLERATION = """
apiVersion: v1
kind: Pod
metadata:
  name: nginx
  labels:
    env: test
spec:
  containers:
  - name: nginx
    image: nginx
    imagePullPolicy: IfNotPresent
  tolerations:
  - key: "example-key"
    operator: "Exists"
    effect: "NoSchedule"
"""

# Pod Topology Spread Constraints

ONE_CONSTRAINT = """
kind: Pod
apiVersion: v1
metadata:
  name: mypod
  labels:
    foo: bar
spec:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector:
      matchLabels:
        foo: bar
  containers:
  - name: pause
    image: registry.k8s.io/pause:3.1
"""

# Pod Scheduling Readiness

WITH_GATES = """
apiVersion: v1
kind: Pod
metadata:
  name: test-pod
spec:
  schedulingGates:
  - name: example.com/foo
  - name: example.com/bar
  containers:
  - name: pause
    image: registry.k8s.io/pause:3.6
"""

# Pod Overhead

KATA_FC = """
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata:
  name: kata-fc
handler: kata-fc
overhead:
  podFixed:
    memory: "120Mi"
    cpu: "250m"
"""
WITH_OVERHEAD = """
apiVersion: v1
kind: Pod
metadata:
  name: test-pod
spec:
  runtimeClassName: kata-fc
  containers:
  - name: busybox-ctr
    image: busybox:1.28
    stdin: true
    tty: true
    resources:
      limits:
        cpu: 500m
        memory: 100Mi
  - name: nginx-ctr
    image: nginx
    resources:
      limits:
        cpu: 1500m
        memory: 100Mi
"""

# Pod Priority and Preemption; Specifying a Disruption Budget

HIGH_PRIORITY = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: high-priority
value: 1000000
globalDefault: false
description: "This priority class should be used for XYZ service pods only."
"""
PRIORITIZED = """
apiVersion: v1
kind: Pod
metadata:
  name: nginx
  labels:
    env: test
spec:
  containers:
  - name: nginx
    image: nginx
    imagePullPolicy: IfNotPresent
  priorityClassName: high-priority
"""
ZK_BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: zk-pdb
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app: zookeeper
"""

# Resource Bin Packing

BIN_PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - args:
      scoringStrategy:
        resources:
        - name: cpu
          weight: 1
        - name: memory
          weight: 1
        - name: intel.com/foo
          weight: 3
        - name: intel.com/bar
          weight: 3
        type: MostAllocated
    name: NodeResourcesFit
"""

# Resource Quotas: per PriorityClass

PODS_HIGH = """
apiVersion: v1
kind: ResourceQuota
metadata:
  name: pods-high
spec:
  hard:
    cpu: "1000"
    memory: "200Gi"
    pods: "10"
  scopeSelector:
    matchExpressions:
    - operator: In
      scopeName: PriorityClass
      values: ["high"]
"""
HIGH_PRIORITY_POD = """
apiVersion: v1
kind: Pod
metadata:
  name: high-priority
spec:
  containers:
  - name: high-priority
    image: ubuntu
    command: ["/bin/sh"]
    args: ["-c", "while true; do echo hello; sleep 10;done"]
    resources:
      requests:
        memory: "10Gi"
        cpu: "500m"
      limits:
        memory: "10Gi"
        cpu: "500m"
  priorityClassName: high
"""

# Limit Ranges

CPU_CONSTRAINT = """
apiVersion: v1
kind: LimitRange
metadata:
  name: cpu-resource-constraint
spec:
  limits:
  - default: # this section defines default limits
      cpu: 500m
    defaultRequest: # this section defines default requests
      cpu: 500m
    max: # max and min define the limit range
      cpu: "1"
    min:
      cpu: 100m
    type: Container
"""
CONFLICTING = """
apiVersion: v1
kind: Pod
metadata:
  name: example-conflict-with-limitrange-cpu
spec:
  containers:
  - name: demo
    image: registry.k8s.io/pause:3.8
    resources:
      requests:
        cpu: 700m
"""
WITHOUT_CONFLICT = """
apiVersion: v1
kind: Pod
metadata:
  name: example-no-conflict-with-limitrange-cpu
spec:
  containers:
  - name: demo
    image: registry.k8s.io/pause:3.8
    resources:
      requests:
        cpu: 700m
      limits:
        cpu: 700m
"""

# Configure Multiple Schedulers

SECOND_SCHEDULER = """
apiVersion: v1
kind: Pod
metadata:
  name: annotation-second-scheduler
  labels:
    name: multischeduler-example
spec:
  schedulerName: my-scheduler
  containers:
  - name: pod-with-second-annotation-container
    image: registry.k8s.io/pause:3.8
"""
MY_SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
  - schedulerName: my-scheduler
"""

# Workload-Aware Preemption

GROUP_GATES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
featureGates:
  GenericWorkload: true
  GangScheduling: true
  WorkloadAwarePreemption: true
"""
JOB_1 = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata:
  name: job-1
spec:
  schedulingPolicy:
    gang:
      minCount: 2
  priorityClassName: high-priority
"""


class Reader:
    """Types what a page of the documentation says into a cluster."""

    def __init__(self, key: str, cluster: Cluster) -> None:
        self.kube, self.cluster, self.engines = Kube(key, cluster.name), cluster, Engines()

    def post(self, manifest: str) -> dict[str, Any]:
        body = yaml.safe_load(manifest)
        answer = self.kube.post(PATHS[body["kind"]], body)
        assert answer.status_code == 201, answer.content
        created: dict[str, Any] = answer.json()
        return created

    def nodes(self, *names: str, cpu: str = "8", **labels: str) -> None:
        for name in names:
            body = node(name)
            body["metadata"]["labels"] = {"kubernetes.io/hostname": name, **labels}
            for amounts in ("allocatable", "capacity"):
                body["status"][amounts] = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
            assert self.kube.post(NODES, body).status_code == 201

    def running(self, name: str, on: str, **fields: Any) -> None:
        spec = {"nodeName": on, "containers": [{"name": "c", "image": "x"}]}
        spec |= {key: value for key, value in fields.items() if key != "labels"}
        body = {"metadata": {"name": name, "labels": fields.get("labels", {})}, "spec": spec}
        assert self.kube.post(PODS, body).status_code == 201

    def run(self) -> None:
        self.engines.run(self.cluster.pk)

    def place(self, name: str) -> str:
        self.run()
        return Pod.objects.get(cluster=self.cluster, name=name).node_name

    def why_not(self, name: str) -> str:
        assert self.place(name) == ""
        status = Pod.objects.get(cluster=self.cluster, name=name).body["status"]
        (condition,) = (each for each in status["conditions"] if each["type"] == "PodScheduled")
        return f"{condition['reason']}: {condition.get('message', '')}"


@pytest.fixture
def reader(key: str, cluster: Cluster) -> Reader:
    return Reader(key, cluster)


ZONE = "topology.kubernetes.io/zone"


def test_assigning_pods_to_nodes(reader: Reader) -> None:
    """The node must be in one of two zones, and the other label is preferred."""
    reader.nodes("elsewhere", **{ZONE: "north"})
    reader.post(WITH_NODE_AFFINITY)
    assert "didn't match Pod's node affinity/selector" in reader.why_not("with-node-affinity")
    reader.nodes("plain", **{ZONE: "antarctica-east1"})
    label = {"another-node-label-key": "another-node-label-value"}
    reader.nodes("preferred", **{ZONE: "antarctica-west1"}, **label)
    reader.kube.delete(f"{PODS}/with-node-affinity", {"gracePeriodSeconds": 0})
    reader.post(WITH_NODE_AFFINITY)
    assert reader.place("with-node-affinity") == "preferred"

    # only the zone of a pod with security=S1, rather not that of one with security=S2
    reader.running("s1-east", "plain", labels={"security": "S1"})
    reader.running("s1-west", "preferred", labels={"security": "S1"})
    reader.running("s2-west", "preferred", labels={"security": "S2"})
    reader.post(WITH_POD_AFFINITY)
    assert reader.place("with-pod-affinity") == "plain"


def test_taints_gates_and_spread_constraints(reader: Reader) -> None:
    reader.nodes("node1", zone="zoneA")
    taint = {"key": "example-key", "effect": "NoSchedule"}
    reader.kube.patch(f"{NODES}/node1", {"spec": {"taints": [taint]}}, "merge-patch")
    reader.post(WITH_TOLERATION)
    assert reader.place("nginx") == "node1"
    without = WITH_TOLERATION.partition("  tolerations:")[0].replace(
        "name: nginx\n  l", "name: p\n  l"
    )
    reader.post(without)
    assert "1 node(s) had untolerated taint(s)" in reader.why_not("p")

    # three of the four pods run: two in zoneA, one in zoneB, which gets the fourth
    reader.nodes("node2", zone="zoneA")
    reader.nodes("node3", "node4", zone="zoneB")
    for pod, where in (("p1", "node1"), ("p2", "node2"), ("p3", "node3")):
        reader.running(pod, where, labels={"foo": "bar"})
    reader.post(ONE_CONSTRAINT)
    assert reader.place("mypod") in ("node3", "node4")

    # SchedulingGated until the gates are removed
    reader.post(WITH_GATES)
    assert reader.why_not("test-pod").startswith("SchedulingGated")
    gated = Pod.objects.get(cluster=reader.cluster, name="test-pod")
    assert QueueEntry.objects.get(pod_uid=gated.uid).gated_by == "SchedulingGates"
    opened = {"spec": {"schedulingGates": None}}
    assert reader.kube.patch(f"{PODS}/test-pod", opened, "merge-patch").status_code == 200
    assert reader.place("test-pod")


def test_overhead_priority_and_disruption_budgets(reader: Reader) -> None:
    reader.post(KATA_FC)
    reader.nodes("small", cpu="2249m")
    assert reader.post(WITH_OVERHEAD)["spec"]["overhead"] == {"cpu": "250m", "memory": "120Mi"}
    assert "Insufficient cpu" in reader.why_not("test-pod")
    reader.nodes("large", cpu="2250m")
    assert reader.place("test-pod") == "large"

    # the pod with priority preempts the one whose budget allows it
    assert reader.post(HIGH_PRIORITY)["value"] == 1_000_000
    reader.post(ZK_BUDGET)
    reader.kube.delete(f"{NODES}/small")
    full = [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "8"}}}]
    reader.nodes("guarded", "free", cpu="8")
    reader.running("zk-0", "guarded", labels={"app": "zookeeper"}, containers=full)
    reader.running("batch", "free", containers=full)
    reader.run()
    wanting = yaml.safe_load(PRIORITIZED)
    wanting["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    created = reader.post(yaml.safe_dump(wanting))
    assert created["spec"]["priority"] == 1_000_000
    reader.run()
    batch = Pod.objects.filter(cluster=reader.cluster, name="batch").first()
    assert batch is None or batch.body["metadata"]["deletionTimestamp"]
    left = Pod.objects.get(cluster=reader.cluster, name="zk-0").body["metadata"]
    assert "deletionTimestamp" not in left


def test_bin_packing_fills_the_node_that_is_used(reader: Reader) -> None:
    revisions.add_revision(reader.cluster, BIN_PACKING, user="alice")
    reader.nodes("empty", "used")
    half = [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "4", "memory": "8Gi"}}}]
    reader.running("there", "used", containers=half)
    reader.post(WITH_TOLERATION)
    assert reader.place("nginx") == "used"


def test_quotas_by_priority_class_and_limit_ranges(reader: Reader) -> None:
    reader.post(HIGH_PRIORITY.replace("name: high-priority", "name: high"))
    reader.post(PODS_HIGH)
    reader.post(HIGH_PRIORITY_POD)
    reader.run()
    quota = reader.kube.get(f"{PATHS['ResourceQuota']}/pods-high").json()
    assert quota["status"]["used"] == {"cpu": "500m", "memory": "10Gi", "pods": "1"}
    # pods of other classes do not count
    reader.post(WITH_TOLERATION)
    reader.run()
    quota = reader.kube.get(f"{PATHS['ResourceQuota']}/pods-high").json()
    assert quota["status"]["used"]["pods"] == "1"

    reader.post(CPU_CONSTRAINT)
    refused = reader.kube.post(PODS, yaml.safe_load(CONFLICTING))
    assert refused.status_code == 422
    assert refused.json()["message"] == (
        'Pod "example-conflict-with-limitrange-cpu" is invalid: '
        'spec.containers[0].resources.requests: Invalid value: "700m": must be less than or equal '
        "to cpu limit of 500m"
    )
    assert reader.post(WITHOUT_CONFLICT)["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "700m"},
        "requests": {"cpu": "700m"},
    }


def test_a_pod_of_a_second_scheduler_stays_pending_until_there_is_one(reader: Reader) -> None:
    reader.nodes("node1")
    reader.post(SECOND_SCHEDULER)
    assert reader.place("annotation-second-scheduler") == ""
    pending = Pod.objects.get(cluster=reader.cluster, name="annotation-second-scheduler")
    # no scheduler has looked at it
    assert "conditions" not in pending.body["status"]
    revisions.add_revision(reader.cluster, MY_SCHEDULER, user="alice")
    assert reader.place("annotation-second-scheduler") == "node1"


def test_an_eviction_by_the_api_respects_the_budget(reader: Reader) -> None:
    reader.nodes("node1")
    reader.post(ZK_BUDGET.replace("maxUnavailable: 1", "minAvailable: 2"))
    for number in range(3):
        reader.running(f"zk-{number}", "node1", labels={"app": "zookeeper"})
    reader.run()
    kind = {"apiVersion": "policy/v1", "kind": "Eviction"}
    answers = []
    for number in range(2):
        body = {**kind, "metadata": {"name": f"zk-{number}", "namespace": "default"}}
        answers.append(reader.kube.post(f"{PODS}/zk-{number}/eviction", body))
        reader.run()
    # 200 OK, then 429 Too Many Requests, as two of three must be available
    assert [answer.status_code // 100 for answer in answers] == [2, 4]
    assert answers[1].status_code == 429
    assert (
        "Cannot evict pod as it would violate the pod's disruption budget."
        in (answers[1].json()["message"])
    )


def test_a_pod_group_preempts_with_its_own_priority(reader: Reader) -> None:
    """The group is one preemptor, and looks for victims in the whole cluster."""
    revisions.add_revision(reader.cluster, GROUP_GATES, user="alice")
    # "If the priority class is not found, the workload with the PodGroup is rejected."
    refused = reader.kube.post(PATHS["PodGroup"], yaml.safe_load(JOB_1))
    assert refused.status_code == 403 and "high-priority" in refused.json()["message"]
    reader.post(HIGH_PRIORITY)
    spec = reader.post(JOB_1)["spec"]
    assert (spec["priority"], spec["disruptionMode"]) == (1_000_000, "Pod")

    reader.nodes("node1", "node2")
    full = [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "6"}}}]
    for place in ("node1", "node2"):
        reader.running(f"batch-{place}", place, containers=full)
    reader.run()
    for name in ("worker-0", "worker-1"):
        body = {"metadata": {"name": name}, "spec": {"schedulingGroup": {"podGroupName": "job-1"}}}
        body["spec"] |= {"containers": full}
        assert reader.kube.post(PODS, body).status_code == 201
    reader.run()
    left = Pod.objects.filter(cluster=reader.cluster, name__startswith="batch")
    assert all("deletionTimestamp" in each.body["metadata"] for each in left)


def test_documents_describe_operations_as_the_api_server_does(kube: Kube) -> None:
    """A parameter that all operations of a path have is written once, beside them."""
    paths = kube.get("/openapi/v3/apis/apps/v1").json()["paths"]
    place = "/apis/apps/v1/namespaces/{namespace}/deployments"
    collection = paths[place]
    assert [each["name"] for each in collection["parameters"]] == ["namespace", "pretty"]
    assert collection["get"]["description"] == "list or watch objects of kind Deployment"
    assert paths["/apis/apps/v1/deployments"]["get"].keys().isdisjoint({"parameters"})
    (name, *_) = paths[f"{place}/{{name}}/scale"]["parameters"]
    assert name["description"] == "name of the Scale"
    watched = paths["/apis/apps/v1/watch/namespaces/{namespace}/deployments/{name}"]["get"]
    assert watched["operationId"] == "watchAppsV1NamespacedDeployment"
    assert paths["/apis/apps/v1/"]["get"]["operationId"] == "getAppsV1APIResources"
    (group,) = kube.get("/openapi/v3/apis/apps").json()["paths"].values()
    assert group["get"]["operationId"] == "getAppsAPIGroup"
    core = kube.get("/openapi/v3/api/v1").json()["paths"]
    execution = core["/api/v1/namespaces/{namespace}/pods/{name}/exec"]
    assert execution.keys() == {"get", "post", "parameters"}
    names = ["command", "container", "name", "namespace", "stderr", "stdin", "stdout", "tty"]
    assert [each["name"] for each in execution["parameters"]] == names
    proxy = core["/api/v1/nodes/{name}/proxy/{path}"]
    assert proxy["head"]["operationId"] == "connectCoreV1HeadNodeProxyWithPath"


def test_the_document_of_v2_names_shared_parameters_as_the_api_server_does(kube: Kube) -> None:
    document = kube.get("/openapi/v2").json()
    path = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    # the names are hashes of what the real server writes
    (name, *shared) = path["parameters"]
    assert name["name"] == "name"
    assert [each["$ref"] for each in shared] == [
        "#/parameters/namespace-vgWSWtn3",
        "#/parameters/pretty-tJGM1-ng",
    ]
    assert document["parameters"]["namespace-vgWSWtn3"]["in"] == "path"
    assert path["delete"]["parameters"][0] == {"$ref": "#/parameters/body-2Y1dVQaQ"}
    assert path["patch"]["consumes"][0] == "application/json-patch+json"
    # kubectl looks for it at the operation
    (validation,) = (
        each for each in path["patch"]["parameters"] if each.get("name") == "fieldValidation"
    )
    assert validation["type"] == "string"
