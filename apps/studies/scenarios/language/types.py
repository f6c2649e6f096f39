"""What a scenario consists of, as it is written in its file (with camelCase names)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from apps.studies.scenarios.language.values import Distribution, Seconds

Body = dict[str, Any]
Amounts = dict[str, str | int | float]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Any object of the language; unknown fields are errors."""


class NodeGroup(Entry, frozen=True, kw_only=True):
    """Equal nodes, named `{name}-0` and so on, spread over zones in turn."""

    name: str = "node"
    count: int = 1
    #: how many zones (zone-1 …), unless `zone` names one
    zones: int = 1
    zone: str = ""
    cpu: str | int | float = "8"
    memory: str | int = "32Gi"
    pods: str | int = 110
    #: further resources
    resources: Amounts = {}
    labels: dict[str, str] = {}
    #: "key=value:Effect"
    taints: list[str] = []


class Import(Entry, frozen=True, kw_only=True):
    """Objects of a file in another format."""

    format: Literal["openb", "cluster-autoscaler", "kube-scheduler-simulator", "kwok", "yaml"]
    file: str


class ClusterSpec(Entry, frozen=True, kw_only=True):
    """The cluster at the start."""

    nodes: list[NodeGroup] = []
    objects: list[Body] = []
    imports: list[Import] = []
    #: a KubeSchedulerConfiguration; the default one if it is empty
    configuration: Body = {}
    feature_gates: dict[str, bool] = {}
    tie_break: Literal["random", "first-name"] = "random"
    controllers: bool = True


class PodShape(Entry, frozen=True, kw_only=True):
    """What the pods of a workload look like."""

    requests: Amounts = {}
    labels: dict[str, str] = {}
    namespace: str = "default"
    priority_class: str = ""
    #: fields of metadata and spec besides
    pod: Body = {}


class Variant(PodShape, frozen=True, kw_only=True):
    """One of several shapes, drawn with its weight."""

    weight: float = 1


class Arrivals(Entry, frozen=True, kw_only=True):
    """Pods that arrive one after the other."""

    #: the time between two arrivals
    every: Distribution
    #: they end with whichever comes first
    count: int | None = None
    until: Seconds | None = None
    #: pods for each arrival
    batch: int = 1


class Trace(Entry, frozen=True, kw_only=True):
    """Pods and other objects of a recording, with their times of creation and deletion."""

    format: Literal["openb", "kube-scheduler-simulator", "kwok", "simkube"]
    file: str
    #: who finds nodes: the scheduler, or the recording for the pods that had one
    placement: Literal["scheduler", "recorded"] = "scheduler"
    #: seconds of the recording for each second of the scenario
    speed: float = 1
    #: leave out what comes later, in the time of the scenario
    until: Seconds | None = None
    limit: int | None = None


class Workload(PodShape, frozen=True, kw_only=True):
    """Where pods come from: objects, a number of pods, arrivals, or a trace."""

    name: str
    at: Seconds = Seconds(0)
    #: the name of a workload or operation; `at` counts from its time (from the last arrival)
    after: str = ""
    objects: list[Body] = []
    count: int | None = None
    arrivals: Arrivals | None = None
    trace: Trace | None = None
    #: pods succeed this long after their start
    lifetime: Distribution | None = None
    variants: list[Variant] = []


class NodeTarget(Entry, frozen=True, kw_only=True):
    """Some of the cluster's nodes."""

    names: list[str] = []
    labels: dict[str, str] = {}


class ObjectTarget(Entry, frozen=True, kw_only=True):
    """One object."""

    kind: str
    name: str
    namespace: str = "default"


class Patch(ObjectTarget, frozen=True, kw_only=True):
    """A JSON merge patch of an object."""

    patch: Body
    subresource: str = ""


class Scale(ObjectTarget, frozen=True, kw_only=True):
    """The number of replicas of a workload."""

    replicas: int


class Tainting(Entry, frozen=True, kw_only=True):
    """A taint of some nodes: "key=value:Effect"."""

    nodes: str | NodeTarget
    taint: str


class Operation(Entry, frozen=True, kw_only=True):
    """Something that happens at a time; it has one of the actions."""

    name: str = ""
    at: Seconds = Seconds(0)
    after: str = ""
    #: again so often, each time `every` later
    times: int = 1
    every: Seconds = Seconds(60)
    apply: list[Body] | None = None
    patch: Patch | None = None
    delete: ObjectTarget | None = None
    scale: Scale | None = None
    taint: Tainting | None = None
    untaint: Tainting | None = None
    cordon: str | NodeTarget | None = None
    uncordon: str | NodeTarget | None = None
    drain: str | NodeTarget | None = None
    fail: str | NodeTarget | None = None
    recover: str | NodeTarget | None = None


class PodSelector(Entry, frozen=True, kw_only=True):
    """Some of the pods that existed during the run; all of them without fields."""

    workload: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class Amount(Entry, frozen=True, kw_only=True):
    """A number, or its limits."""

    equals: float | None = None
    at_least: float | None = None
    at_most: float | None = None


class Waiting(Entry, frozen=True, kw_only=True):
    """The time from creation to binding, of pods that were bound."""

    at_most: Seconds
    percentile: float = 100


class Utilization(Amount, frozen=True, kw_only=True):
    """Requests of running pods divided by allocatable, from 0 to 1."""

    resource: str = "cpu"
    #: over the whole run; else at the time of the expectation
    average: bool = False


class Skew(Amount, frozen=True, kw_only=True):
    """The difference between the domains with most and with fewest of the pods."""

    topology_key: str


class NotWorse(Entry, frozen=True, kw_only=True):
    """The figures of the run are not worse than in the results of an earlier one."""

    #: a file that `scenario run --json` has written
    than: str
    #: names of figures; the usual ones if it is empty
    figures: list[str] = []
    #: by how much a figure may be worse
    percent: float = 0


class Expectation(Entry, frozen=True, kw_only=True):
    """What has to be true, at a time or at the end; it has one of the checks."""

    name: str = ""
    #: the end of the run if it is not given
    at: Seconds | None = None
    pods: PodSelector = PodSelector()
    bound_within: Seconds | None = None
    #: of `bound_within`: how many of the pods, in percent
    percent: float = 100
    on_nodes: NodeTarget | None = None
    no_preemption: Literal[True] | None = None
    created: Amount | None = None
    bound: Amount | None = None
    pending: Amount | None = None
    running: Amount | None = None
    succeeded: Amount | None = None
    preempted: Amount | None = None
    evicted: Amount | None = None
    #: the most attempts that one of the pods needed
    attempts: Amount | None = None
    waiting: Waiting | None = None
    utilization: Utilization | None = None
    #: the standard deviation of the nodes' cpu utilization
    imbalance: Amount | None = None
    #: nodes with at least one of the pods
    nodes_used: Amount | None = None
    skew: Skew | None = None
    #: every pod that waits says so
    reason: str | None = None
    not_worse: NotWorse | None = None


class ProfileSpec(Entry, frozen=True, kw_only=True):
    """A configuration to compare; what it leaves out is the cluster's."""

    configuration: Body = {}
    feature_gates: dict[str, bool] = {}


class Sweep(Entry, frozen=True, kw_only=True):
    """The scenario is run with each profile and each seed."""

    profiles: dict[str, ProfileSpec] = {}
    seeds: list[int] = []


class Scenario(Entry, frozen=True, kw_only=True):
    """A whole file."""

    name: str
    description: str = ""
    #: the time at the start
    start: str = "2026-01-01T00:00:00Z"
    #: until nothing is left to do if it is not given
    duration: Seconds | None = None
    seed: int = 1
    cluster: ClusterSpec | None = None
    #: several clusters, each of which the scenario is run on
    clusters: dict[str, ClusterSpec] = {}
    workloads: list[Workload] = []
    operations: list[Operation] = []
    expectations: list[Expectation] = []
    sweep: Sweep = Sweep()

    @property
    def all_clusters(self) -> dict[str, ClusterSpec]:
        """The clusters by name; the only one has the name "cluster"."""
        return self.clusters or {"cluster": self.cluster or ClusterSpec()}


#: An operation has exactly one of these fields, and so has an expectation of the next ones.
ACTIONS = (
    *("apply", "patch", "delete", "scale", "taint", "untaint"),
    *("cordon", "uncordon", "drain", "fail", "recover"),
)
CHECKS = (
    *("bound_within", "on_nodes", "no_preemption", "created", "bound", "pending", "running"),
    *("succeeded", "preempted", "evicted", "attempts", "waiting", "utilization", "imbalance"),
    *("nodes_used", "skew", "reason", "not_worse"),
)
#: Figures that are worse when they are higher, and figures that are worse when they are lower.
LOWER_IS_BETTER = (
    *("pending", "preempted", "evicted", "attempts", "waited_p50", "waited_p99", "waited_max"),
    *("imbalance", "nodes_used"),
)
HIGHER_IS_BETTER = ("bound", "succeeded", "cpu_utilization", "memory_utilization")
