"""Feature gates: what a configuration may set, and what each gate changes in decisions."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.cache.devices_in_use import Allocated
from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import ConfigError, load
from apps.scheduler.config.encoding import encode
from apps.scheduler.config.warnings import find_warnings
from apps.scheduler.decision import Decision, Result
from apps.scheduler.features import GATES, FeatureGates
from apps.scheduler.features.effects import EFFECTS, concerns_scheduling, effect_of
from apps.scheduler.features.gates import ALL_OF_STAGE
from apps.scheduler.framework.gated_fields import view_of_pods
from apps.scheduler.framework.node_search import PLAIN
from apps.scheduler.objects import (
    CSIDriver,
    CSIStorageCapacity,
    DeviceClass,
    ResourceClaim,
    ResourceSlice,
    decode_as,
)
from apps.scheduler.plugins.dynamicresources.features import DeviceFeatures
from apps.scheduler.plugins.dynamicresources.matrix import MatrixInputs, compare_devices
from apps.scheduler.plugins.dynamicresources.pools import Slices
from apps.scheduler.plugins.helper.device_rows import shared_rows
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.storage import (
    make_claim,
    make_csi_node,
    make_storage_class,
    make_volume,
)
from apps.scheduler.testing.trial import refusals, scores
from tests.scheduler.cycle import add, attempt

TYPE = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
HOSTNAME = "kubernetes.io/hostname"


def configured(gates: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**TYPE, "featureGates": gates, **fields}


def faults(gates: dict[str, Any], **fields: Any) -> list[str]:
    with pytest.raises(ConfigError) as refusal:
        load(configured(gates, **fields), TABLE)
    return [str(cause) for cause in refusal.value.causes]


def build(clock: VirtualClock | None = None, *, fields: Any = None, **gates: bool) -> Scheduler:
    configuration = load(configured(gates, **(fields or {})), TABLE)
    return Scheduler(configuration, clock=clock or VirtualClock(), tie_break="first-name")


def storage_args(**args: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": args}]}]}


def test_every_alpha_gate_about_scheduling_has_an_effect() -> None:
    """Turning it on draws no warning, and the list of gates says what it changes."""
    alpha = {
        name: True
        for name, gate in GATES.items()
        if gate.stage == "Alpha" and concerns_scheduling(gate) and name not in ALL_OF_STAGE
    }
    assert {"DRAWorkloadResourceClaims", "TopologyAwareWorkloadScheduling"} <= alpha.keys()
    assert find_warnings(load(configured(alpha), TABLE)) == []
    without = [name for name in alpha if not effect_of(GATES[name]).startswith("On")]
    assert without == ["DRAResourcePoolStatus"], "a gate of the API server and a controller"


# -- what can be set ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        (
            {"SchedulerPopFromBackoff": False},
            "featureGates.SchedulerPopFromBackoff: "
            "unrecognized feature gate: SchedulerPopFromBackoff",
        ),
        (
            {"SchedulerQueueingHints": False},
            "featureGates.SchedulerQueueingHints: cannot set feature gate SchedulerQueueingHints "
            "to false, feature is locked to true",
        ),
        (
            {"GangScheduling": True},
            "featureGates.GangScheduling: GangScheduling is enabled, but depends on features that "
            "are disabled: [GenericWorkload]",
        ),
        ({"GenericWorkload": "yes"}, 'featureGates.GenericWorkload: Invalid value: "yes": '),
    ],
)
def test_a_gate_that_cannot_be_set_so_is_refused(gates: dict[str, Any], expected: str) -> None:
    (fault,) = faults(gates)
    assert fault.startswith(expected)


@pytest.mark.parametrize(
    "gates",
    [
        {"DynamicResourceAllocation": True, "InPlacePodVerticalScaling": True},
        {"GenericWorkload": True, "GangScheduling": True},
        {"DRAConsumableCapacity": False, "CPUManagerPolicyAlphaOptions": True},
    ],
)
def test_gates_of_1_36_are_known(gates: dict[str, bool]) -> None:
    configuration = load(configured(gates), TABLE)
    assert all(configuration.gates.enabled(name) is value for name, value in gates.items())


def test_all_alpha_sets_the_gates_that_are_not_set_themselves() -> None:
    gates = FeatureGates({"AllAlpha": True, "GenericWorkload": False})
    assert gates.enabled("StorageCapacityScoring") and not gates.enabled("GenericWorkload")
    assert not gates.enabled("SchedulerAsyncAPICalls")
    assert gates.as_flag() == "AllAlpha=true,GenericWorkload=false"


def test_the_table_is_consistent() -> None:
    stages = {"Alpha": False, "GA": True}
    for gate in GATES.values():
        assert gate.default is stages.get(gate.stage, gate.default) and effect_of(gate)
        assert all(name in GATES for name in gate.requires)
    assert EFFECTS.keys() <= GATES.keys()


def test_a_complete_document_has_the_gates_that_are_set() -> None:
    gates = {"SchedulerPopFromBackoffQ": False}
    assert encode(load(configured(gates), TABLE))["featureGates"] == gates
    assert "featureGates" not in encode(load(TYPE, TABLE))


# -- what they change --------------------------------------------------------------------------


def rejected_pod_with_helpful_event(scheduler: Scheduler) -> None:
    """A pod that no node had room for, after a second node was added."""
    decision = attempt(scheduler, make_pod("p").req(cpu="4"), make_node("a").capacity(cpu="2"))
    assert decision.result is Result.UNSCHEDULABLE
    add(scheduler, make_node("b").capacity(cpu="8"))


def test_a_pod_completes_its_backoff_if_the_gate_is_off() -> None:
    for is_on in (True, False):
        clock = VirtualClock()
        clock.at = 1000.7
        scheduler = build(clock, SchedulerPopFromBackoffQ=is_on)
        rejected_pod_with_helpful_event(scheduler)
        assert (scheduler.schedule_one() is not None) is is_on
    # the backoff of 1 s ends at 1001.7, to the moment
    clock.at = 1001.699
    scheduler.queue.flush_backoff_completed()
    assert scheduler.schedule_one() is None
    clock.at = 1001.7
    scheduler.queue.flush_backoff_completed()
    assert scheduler.schedule_one() is not None


def preempt(scheduler: Scheduler) -> str:
    """Where the preemptor is after a helpful event, while its victim has not terminated yet."""
    victim = make_pod("victim").req(cpu="2").on("a")
    add(scheduler, make_node("a").capacity(cpu="2"), victim)
    decision = attempt(scheduler, make_pod("urgent").req(cpu="2").priority(100))
    assert decision.nominating is not None and decision.nominating.nominated_node == "a"
    add(scheduler, make_node("b").capacity(cpu="8"))
    return next(entry.queue.value for entry in scheduler.queue.dump())


def test_a_preemptor_is_gated_until_its_victims_terminate() -> None:
    assert preempt(build(SchedulerAsyncPreemption=True)) == "gated"
    assert preempt(build(SchedulerAsyncPreemption=False)) != "gated"


def capacity(node: str, size: str) -> CSIStorageCapacity:
    return decode_as(
        CSIStorageCapacity,
        {
            "metadata": {"name": f"of-{node}", "namespace": "default"},
            "storageClassName": "fast",
            "capacity": size,
            "nodeTopology": {"matchLabels": {HOSTNAME: node}},
        },
    )


def storage_scores(scheduler: Scheduler) -> dict[str, int]:
    """The scores of a claim of 50Gi where a driver offers 100Gi, 200Gi and 60Gi."""
    driver = {"metadata": {"name": "fast.csi"}, "spec": {"storageCapacity": True}}
    add(scheduler, *(make_node(name).hostname() for name in "abc"))
    add(scheduler, make_storage_class("fast", "fast.csi"), decode_as(CSIDriver, driver))
    add(scheduler, capacity("a", "100Gi"), capacity("b", "200Gi"), capacity("c", "60Gi"))
    add(scheduler, make_claim("data").in_class("fast").asks("50Gi"))
    decision = attempt(scheduler, make_pod("p").claims("data"))
    if "VolumeBinding" in decision.score_skipped:
        return {}
    return {name: raw for name, (raw, _, _) in scores(decision, "VolumeBinding").items()}


def test_nodes_are_scored_by_the_storage_that_claims_would_use() -> None:
    assert storage_scores(build()) == {}
    # 50 of 100, 200 and 60 GiB: 50 %, 25 % and 83 % used
    assert storage_scores(build(StorageCapacityScoring=True)) == {"a": 50, "b": 75, "c": 17}
    packed = storage_args(shape=[{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}])
    scheduler = build(fields=packed, StorageCapacityScoring=True)
    assert storage_scores(scheduler) == {"a": 50, "b": 25, "c": 83}


def test_existing_volumes_are_scored_before_new_ones() -> None:
    scheduler = build(StorageCapacityScoring=True)
    add(scheduler, make_storage_class("local"), *(make_node(n).hostname() for n in "ab"))
    for node, size in (("a", "10Gi"), ("b", "40Gi")):
        add(scheduler, make_volume(f"of-{node}").in_class("local").near(HOSTNAME, node).holds(size))
    add(scheduler, make_claim("data").in_class("local").asks("10Gi"))
    decision = attempt(scheduler, make_pod("p").claims("data"))
    assert scores(decision, "VolumeBinding") == {"a": (0, 0, 0), "b": (75, 75, 75)}


def test_the_shape_of_storage_requires_the_gate() -> None:
    shape = [{"utilization": 0, "score": 0}]
    (fault,) = faults({}, **storage_args(shape=shape))
    assert fault.endswith(
        "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
    )
    load(configured({"StorageCapacityScoring": True}, **storage_args(shape=shape)), TABLE)
    (fault,) = faults(
        {"StorageCapacityScoring": True},
        **storage_args(shape=[{"utilization": 101, "score": 0}]),
    )
    assert "profiles[0].pluginConfig[0].args.shape[0].utilization" in fault


def test_tolerations_compare_numbers_if_the_gate_is_on() -> None:
    for is_on in (True, False):
        scheduler = build(TaintTolerationComparisonOperators=is_on)
        add(scheduler, make_node("n").taint("sla", "95"))
        pod = make_pod("p").spec(
            tolerations=[{"key": "sla", "operator": "Gt", "value": "90", "effect": "NoSchedule"}]
        )
        assert bool(attempt(scheduler, pod).node) is is_on


def test_nodes_without_the_driver_of_a_volume_are_refused_if_the_gate_is_on() -> None:
    driver = {"metadata": {"name": "d.csi"}, "spec": {"preventPodSchedulingIfMissing": True}}
    for is_on in (True, False):
        scheduler = build(VolumeLimitScaling=is_on)
        add(scheduler, make_node("a"), make_node("b"), make_csi_node("b", {"d.csi": 5}))
        add(scheduler, make_volume("v").csi("d.csi", "h"), make_claim("data").bound_to("v"))
        add(scheduler, decode_as(CSIDriver, driver))
        decision = attempt(scheduler, make_pod("p").claims("data"))
        missing = {"a": "d.csi CSI driver is not installed on the node"}
        assert refusals(decision) == (missing if is_on else {})


def spread_of_two_revisions() -> Any:
    """A pod of revision 2, as the API server stores it, that spreads within its revision."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": ["revision"],
        "labelSelector": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "revision", "operator": "In", "values": ["2"]}],
        },
    }
    labels = {"app": "web", "revision": "2"}
    return make_pod("p").labels(labels).spec(topologySpreadConstraints=[constraint])


def test_match_label_keys_are_ignored_if_the_gate_is_off() -> None:
    for is_on in (True, False):
        scheduler = build(
            MatchLabelKeysInPodTopologySpread=is_on,
            MatchLabelKeysInPodTopologySpreadSelectorMerge=is_on,
        )
        add(scheduler, make_node("a").hostname(), make_node("b").hostname())
        old = make_pod("old").labels({"app": "web", "revision": "1"}).on("a")
        decision = attempt(scheduler, spread_of_two_revisions(), old)
        # the pod of revision 1 counts only where revisions are not told apart
        assert ("a" in refusals(decision)) is not is_on


def test_pod_level_requests_do_not_count_if_the_gate_is_off() -> None:
    pod = make_pod("p").req(cpu="1").pod_level(cpu="4")
    off = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}
    for gates, cpu in (({}, 4000), (off, 1000)):
        assert view_of_pods(FeatureGates(gates))(pod.info()).requests["cpu"] == cpu
        scheduler = build(**gates)
        add(scheduler, make_node("n").capacity(cpu="2"))
        assert bool(attempt(scheduler, pod).node) is (cpu == 1000)


def test_the_default_profile_has_the_plugins_whose_gate_is_on() -> None:
    dependents = (
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        "RestartAllContainersOnContainerExits",
    )
    off = dict.fromkeys(("NodeDeclaredFeatures", *dependents), False)
    for gates, expected in (({}, True), (off, False)):
        (profile,) = load(configured(gates), TABLE).profiles
        assert ("NodeDeclaredFeatures" in profile.plugin_names) is expected


# -- devices: what a gate takes away ------------------------------------------------------------

ONE_OF_A_CLASS = {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}
ALTERNATIVES = {
    "requests": [{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}]
}
CANNOT = "0/1 nodes are available: 1 cannot allocate all claims."


def with_devices(
    gates: dict[str, bool], wanted: dict[str, Any], *devices: dict[str, Any], **spec: Any
) -> Decision:
    """A pod with this claim, and a node with these devices; one claim shares d0 already."""
    scheduler = build(**gates)
    where = {} if spec.get("perDeviceNodeSelection") else {"nodeName": "n"}
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1 + ("sharedCounters" in spec)}
    of_driver = {"driver": "d.example", "pool": pool}
    counters = spec.pop("sharedCounters", None)
    body = {**of_driver, **where, **spec, "devices": list(devices)}
    extended = {"extendedResourceName": "example.com/device"}
    claim = {"metadata": {"name": "claim", "namespace": "default", "uid": "claim"}}
    add(
        scheduler,
        make_node("n"),
        decode_as(DeviceClass, {"metadata": {"name": "c"}, "spec": extended}),
        decode_as(ResourceSlice, {"metadata": {"name": "s"}, "spec": body}),
        decode_as(ResourceClaim, {**claim, "spec": {"devices": wanted}}),
    )
    if counters:
        shared = {**of_driver, "nodeName": "n", "sharedCounters": counters}
        add(scheduler, decode_as(ResourceSlice, {"metadata": {"name": "t"}, "spec": shared}))
    if any(device.get("allowMultipleAllocations") for device in devices):
        result = {"request": "r", "driver": "d.example", "pool": "n", "device": "d0"}
        shared_by = {"devices": {"results": [{**result, "shareID": "1"}]}}
        other = {"metadata": {"name": "other", "namespace": "default", "uid": "other"}}
        status = {"status": {"allocation": shared_by}}
        body = {**other, "spec": {"devices": wanted}, **status}
        add(scheduler, decode_as(ResourceClaim, body))
    pod = make_pod("p")
    if wanted:
        pod.spec(resourceClaims=[{"name": "x", "resourceClaimName": "claim"}])
    else:
        pod.req({"example.com/device": 1})
    return attempt(scheduler, pod)


@pytest.mark.parametrize(
    ("gate", "wanted", "device", "spec", "message"),
    [
        ("DRAConsumableCapacity", ONE_OF_A_CLASS, {"allowMultipleAllocations": True}, {}, CANNOT),
        ("DRADeviceBindingConditions", ONE_OF_A_CLASS, {"bindingConditions": ["on"]}, {}, CANNOT),
        (
            "DRAPartitionableDevices",
            ONE_OF_A_CLASS,
            {"consumesCounters": [{"counterSet": "s", "counters": {"u": {"value": "1"}}}]},
            {"sharedCounters": [{"name": "s", "counters": {"u": {"value": "1"}}}]},
            CANNOT,
        ),
        (
            "DRAPartitionableDevices",
            ONE_OF_A_CLASS,
            {"nodeName": "n"},
            {"perDeviceNodeSelection": True},
            CANNOT,
        ),
        (
            "DRAPrioritizedList",
            ALTERNATIVES,
            {},
            {},
            "0/1 nodes are available: resource claim default/claim, request r: has subrequests, "
            "but the DRAPrioritizedList feature is disabled.",
        ),
        (
            "DRAExtendedResource",
            {},
            {},
            {},
            "0/1 nodes are available: 1 Insufficient example.com/device.",
        ),
    ],
)
def test_devices_are_not_allocated_by_a_feature_that_is_off(
    gate: str, wanted: Any, device: Any, spec: Any, message: str
) -> None:
    decision = with_devices({}, wanted, {"name": "d0", **device}, **spec)
    assert decision.node == "n" or decision.result is Result.BINDING, decision.message
    off = with_devices({gate: False}, wanted, {"name": "d0", **device}, **spec)
    assert (off.node, off.filter_message) == ("", message)


@pytest.mark.parametrize("alternative", [False, True])
def test_a_request_for_capacity_is_an_error_while_devices_are_not_shared(alternative: bool) -> None:
    asks = {"deviceClassName": "c", "capacity": {"requests": {"memory": "1Gi"}}}
    of_request = {"firstAvailable": [{"name": "sub", **asks}]} if alternative else {"exactly": asks}
    wanted = {"requests": [{"name": "r", **of_request}]}
    device = {"name": "d0", "capacity": {"memory": {"value": "2Gi"}}}
    assert with_devices({}, wanted, device).node == "n"
    off = {"DRAConsumableCapacity": False}
    which = "subrequest sub" if alternative else "request r"
    assert (
        f"claim default/claim, {which}: has capacity requests, but the DRAConsumableCapacity "
        "feature is disabled" in with_devices(off, wanted, device).message
    )
    # The plainest allocator ignores them.
    assert with_devices({**off, "DRADeviceBindingConditions": False}, wanted, device).node == "n"


def test_taints_of_devices_keep_nothing_away_if_the_gate_is_off() -> None:
    tainted = {"name": "d0", "taints": [{"key": "broken", "effect": "NoSchedule"}]}
    assert with_devices({}, ONE_OF_A_CLASS, tainted).filter_message == CANNOT
    assert with_devices({"DRADeviceTaints": False}, ONE_OF_A_CLASS, tainted).node == "n"


def of_lists(match: str, *devices: Any, is_on: bool = True, count: int = 2) -> Decision:
    """A claim for devices with values of ``d.example/a`` in common, or without: ``match``."""
    wanted = {
        "requests": [{"name": f"r{n}", "exactly": {"deviceClassName": "c"}} for n in range(count)],
        "constraints": [{match: "d.example/a"}],
    }
    named = [
        {"name": f"d{n}", "attributes": {"a": attribute}} for n, attribute in enumerate(devices)
    ]
    return with_devices({"DRAListTypeAttributes": is_on}, wanted, *named)


@pytest.mark.parametrize(
    ("match", "devices", "fits", "fits_without"),
    [
        ("matchAttribute", ({"ints": [0, 1]}, {"ints": [1, 2]}), True, False),
        ("matchAttribute", ({"ints": [0, 1]}, {"ints": [2]}), False, False),
        ("matchAttribute", ({"strings": ["x", "y"]}, {"string": "y"}), True, False),
        ("matchAttribute", ({"versions": ["1.0.0"]}, {"string": "1.0.0"}), False, False),
        ("matchAttribute", ({"bools": [True]}, {"ints": [1]}), False, False),
        ("matchAttribute", ({"int": 1}, {"int": 1}), True, True),
        ("distinctAttribute", ({"ints": [0, 1]}, {"ints": [2]}), True, False),
        ("distinctAttribute", ({"ints": [0, 1]}, {"ints": [1, 2]}), False, False),
        ("distinctAttribute", ({"ints": [0]}, {"int": 0}), False, True),
    ],
)
def test_lists_of_attributes_are_compared_as_sets_if_the_gate_is_on(
    match: str, devices: Any, fits: bool, fits_without: bool
) -> None:
    assert bool(of_lists(match, *devices).node) is fits
    assert bool(of_lists(match, *devices, is_on=False).node) is fits_without


def test_all_devices_have_one_value_in_common_not_only_each_two_of_them() -> None:
    ring = ({"ints": [0, 1]}, {"ints": [1, 2]}, {"ints": [2, 0]})
    assert of_lists("matchAttribute", *ring, count=2).node
    assert of_lists("matchAttribute", *ring, count=3).filter_message == CANNOT


def test_a_device_that_is_taken_back_narrows_the_common_values_as_in_kube_scheduler() -> None:
    exactly = {"deviceClassName": "c", "count": 3}
    constraints = [{"matchAttribute": "d.example/a"}]
    wanted = {"requests": [{"name": "r", "exactly": exactly}], "constraints": constraints}

    def decide(*lists: list[int]) -> Decision:
        devices = [{"name": f"d{n}", "attributes": {"a": {"ints": x}}} for n, x in enumerate(lists)]
        return with_devices({"DRAListTypeAttributes": True}, wanted, *devices)

    assert decide([0, 1], [0], [0]).node == "n"
    # d0 and d1 leave the value 1, which d2 and d3 do not have; 0 stays excluded without d1
    assert decide([0, 1], [1], [0], [0]).filter_message == CANNOT


def test_the_comparison_of_devices_says_which_lists_have_nothing_in_common() -> None:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    devices = [
        {"name": "d0", "attributes": {"a": {"ints": [0, 1]}}},
        {"name": "d1", "attributes": {"a": {"int": 1}}},
        {"name": "d2", "attributes": {"a": {"ints": [2, 3]}}},
        {"name": "d3"},
    ]
    body = {"driver": "d.example", "pool": pool, "nodeName": "n", "devices": devices}
    pools = Slices([decode_as(ResourceSlice, {"metadata": {"name": "s"}, "spec": body})])
    exactly = {"deviceClassName": "c", "count": 2}
    wanted = {
        "requests": [{"name": "r", "exactly": exactly}],
        "constraints": [{"matchAttribute": "d.example/a"}],
    }
    claim = decode_as(ResourceClaim, {"metadata": {"name": "x"}, "spec": {"devices": wanted}})
    device_class = decode_as(DeviceClass, {"metadata": {"name": "c"}})
    features = DeviceFeatures(lists=True)
    rows = shared_rows(lists=True)
    inputs = MatrixInputs(Allocated(), lambda name: device_class, rows, {}, features)
    node = make_node("n").obj()
    found = compare_devices(node, pools.gather(node), [claim], inputs)
    assert [[each.sentence for each in cell.obstacles] for cell in found.cells] == [
        [],
        [],
        [
            "matchAttribute d.example/a: 2 devices with a common value are needed, and at most 1 "
            "of the usable ones have one of 2, 3"
        ],
        ["it has no attribute d.example/a, which matchAttribute requires"],
    ]


def test_selectors_read_lists_if_the_gate_is_on() -> None:
    attribute = "device.attributes['d.example'].a"
    device = {"name": "d0", "attributes": {"a": {"versions": ["1.2.0", "2.0.0"]}}}
    for expression, fits in (
        (f"{attribute}.exists(v, v.isGreaterThan(semver('1.9.0')))", True),
        (f"{attribute}.includes(semver('1.2.0')) && size({attribute}) == 2", True),
        (f"{attribute}.includes(semver('3.0.0'))", False),
    ):
        exactly = {"deviceClassName": "c", "selectors": [{"cel": {"expression": expression}}]}
        wanted = {"requests": [{"name": "r", "exactly": exactly}]}
        assert bool(with_devices({"DRAListTypeAttributes": True}, wanted, device).node) is fits
    off = with_devices({}, wanted, device)
    assert "attribute a: unsupported attribute value" in off.message


def test_results_are_reused_unless_the_gate_is_off() -> None:
    for gates, is_plain in (({}, False), ({"OpportunisticBatching": False}, True)):
        scheduler = build(**gates)
        add(scheduler, make_node("n"))
        for name in ("a", "b"):
            attempt(scheduler, make_pod(name))
        search_for = scheduler.profiles["default-scheduler"].search_for
        search = search_for(make_pod("c").info(), scheduler.snapshot)
        assert (search is PLAIN) is is_plain
