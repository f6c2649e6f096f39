"""KubeSchedulerConfiguration of v1alpha1 to v1beta3."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apps.scheduler.config import KIND, ConfigError, Profile, load
from apps.scheduler.config.conversion import Conversion
from apps.scheduler.config.plugin_table import KnownPlugin
from apps.scheduler.config.resource_args import ResourceSpec
from apps.scheduler.plugins.podtopologyspread.args import LIST_DEFAULTING, SYSTEM_DEFAULTING
from legacy_plugins.conversion import convert, names
from tests.legacy_plugins.policies import TABLE

GROUP = "kubescheduler.config.k8s.io"

#: As it stood on master nodes of 1.16, field by field.
V1ALPHA1 = """
apiVersion: kubescheduler.config.k8s.io/v1alpha1
kind: KubeSchedulerConfiguration
algorithmSource:
  provider: DefaultProvider
bindTimeoutSeconds: 300
clientConnection:
  acceptContentTypes: ""
  burst: 200
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: "/etc/kubernetes/kube-scheduler.kubeconfig"
  qps: 100
disablePreemption: false
enableContentionProfiling: false
enableProfiling: true
hardPodAffinitySymmetricWeight: 2
healthzBindAddress: 192.168.56.101:10251
leaderElection:
  leaderElect: true
  lockObjectName: my-scheduler
  lockObjectNamespace: kube-system
  resourceLock: endpoints
metricsBindAddress: 192.168.56.101:10251
schedulerName: my-scheduler
"""


def converted(version: str, **fields: Any) -> Conversion:
    return convert({"apiVersion": f"{GROUP}/{version}", "kind": KIND, **fields}, TABLE)


def profiles(conversion: Conversion) -> tuple[Profile, ...]:
    return load(conversion.configuration, TABLE, legacy=conversion.legacy).profiles


def scores(conversion: Conversion) -> dict[str, int]:
    [profile] = profiles(conversion)
    return dict(profile.score_weights)


def test_v1alpha1_becomes_one_profile_with_the_plugins_of_its_time() -> None:
    conversion = convert(V1ALPHA1, TABLE)
    configuration = load(conversion.configuration, TABLE, legacy=True)
    [profile] = configuration.profiles
    assert profile.scheduler_name == "my-scheduler"
    assert profile.extension_points()["score"] == [
        ["NodeResourcesBalancedAllocationLegacy", 1],
        ["ImageLocality", 1],
        ["InterPodAffinity", 1],
        ["NodeResourcesLeastAllocated", 1],
        ["NodeAffinity", 1],
        ["NodePreferAvoidPods", 10000],
        ["PodTopologySpread", 2],
        ["TaintToleration", 1],
        ["SelectorSpread", 1],
    ]
    assert profile.plugins["preEnqueue"] == ("SchedulingGates",)
    assert profile.args["InterPodAffinity"].hard_pod_affinity_weight == 2
    assert profile.args["VolumeBinding"].bind_timeout_seconds == 300
    assert profile.args["PodTopologySpread"].defaulting_type == LIST_DEFAULTING
    assert configuration.leader_election.resource_name == "my-scheduler"
    assert configuration.client_connection.burst == 200
    assert not configuration.enable_contention_profiling


def test_v1alpha1_settings_without_meaning_are_noted() -> None:
    assert convert(V1ALPHA1, TABLE).notes[:3] == (
        "healthzBindAddress does not exist in v1 and is left out",
        "metricsBindAddress does not exist in v1 and is left out",
        "leaderElection.resourceLock endpoints is now leases, the only supported lock",
    )


def test_the_cluster_autoscaler_provider_packs_nodes() -> None:
    weights = scores(
        converted("v1alpha1", algorithmSource={"provider": "ClusterAutoscalerProvider"})
    )
    assert "NodeResourcesMostAllocated" in weights
    assert "NodeResourcesLeastAllocated" not in weights


def test_an_unknown_provider_is_noted() -> None:
    conversion = converted("v1alpha1", algorithmSource={"provider": "Mine"})
    assert "algorithmSource.provider Mine is unknown; DefaultProvider is used" in conversion.notes


def test_v1alpha1_with_its_policy_runs_the_policys_plugins() -> None:
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": "HostName"}],
        "priorities": [{"name": "ImageLocalityPriority", "weight": 4}],
        "extenders": [{"urlPrefix": "http://x"}],
    }
    source = {"policy": {"file": {"path": "/etc/policy.cfg"}}}
    body = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": KIND,
        "algorithmSource": source,
        "plugins": {"score": {"enabled": [{"name": "NodeAffinity"}]}},
    }
    conversion = convert(body, TABLE, policy=policy)
    assert scores(conversion) == {"ImageLocality": 4}
    assert "plugins and pluginConfig are left out: a Policy takes precedence" in conversion.notes
    assert load(conversion.configuration, TABLE, legacy=True).extenders[0].url_prefix == "http://x"


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        ({"file": {"path": "/etc/policy.cfg"}}, "file /etc/policy.cfg"),
        (
            {"configMap": {"namespace": "kube-system", "name": "policy"}},
            "config map kube-system/policy",
        ),
    ],
)
def test_a_policy_outside_the_text_is_noted(policy: dict[str, Any], place: str) -> None:
    conversion = converted("v1alpha1", algorithmSource={"policy": policy})
    assert conversion.notes[0] == (
        f"the Policy of algorithmSource ({place}) is not part of this text; the default plugins "
        "are used instead. Convert the two together"
    )


def test_v1alpha1s_post_filter_is_the_pre_score_of_today() -> None:
    conversion = converted(
        "v1alpha1",
        plugins={"postFilter": {"disabled": [{"name": "*"}]}, "unreserve": {"enabled": []}},
    )
    [profile] = profiles(conversion)
    assert profile.plugins["postFilter"] == ("DefaultPreemption",)
    assert "plugins.postFilter is now preScore: the extension point was renamed" in (
        conversion.notes
    )


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_preemption_can_have_been_switched_off(version: str) -> None:
    [profile] = profiles(converted(version, disablePreemption=True))
    assert profile.plugins["postFilter"] == ()


def test_v1beta1_spells_out_the_defaults_of_its_time() -> None:
    assert scores(converted("v1beta1")) == {
        "NodeResourcesBalancedAllocationLegacy": 1,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        "NodeResourcesLeastAllocated": 1,
        "NodeAffinity": 1,
        "NodePreferAvoidPods": 10000,
        "PodTopologySpread": 2,
        "TaintToleration": 1,
    }


V1BETA1_BIN_PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1beta1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled:
      - name: NodeResourcesLeastAllocated
      enabled:
      - name: NodeResourcesMostAllocated
        weight: 3
  pluginConfig:
  - name: NodeResourcesMostAllocated
    args:
      apiVersion: kubescheduler.config.k8s.io/v1beta1
      kind: NodeResourcesMostAllocatedArgs
      resources:
      - name: intel.com/foo
        weight: 5
"""


def test_v1beta1_bin_packing_as_documented() -> None:
    conversion = convert(V1BETA1_BIN_PACKING, TABLE)
    [profile] = profiles(conversion)
    assert profile.score_weights["NodeResourcesMostAllocated"] == 3
    assert "NodeResourcesLeastAllocated" not in profile.score_weights
    assert profile.args["NodeResourcesMostAllocated"].resources == (
        ResourceSpec(name="intel.com/foo", weight=5),
    )


def test_v1beta1_plugins_by_label_stay() -> None:
    both = {"enabled": [{"name": "NodeLabel", "weight": 1}]}
    services = {"enabled": [*both["enabled"], {"name": "ServiceAffinity"}]}
    args = {"presentLabels": ["zone"], "presentLabelsPreference": ["ssd"]}
    conversion = converted(
        "v1beta1",
        profiles=[
            {
                "plugins": {"filter": services, "score": both},
                "pluginConfig": [
                    {"name": "NodeLabel", "args": args},
                    {"name": "ServiceAffinity", "args": {"affinityLabels": ["region"]}},
                ],
            }
        ],
    )
    [profile] = profiles(conversion)
    assert profile.args["NodeLabel"].present_labels == ("zone",)
    assert profile.args["NodeLabel"].present_labels_preference == ("ssd",)
    assert profile.args["ServiceAffinity"].affinity_labels == ("region",)
    assert profile.plugins["filter"][-2:] == ("NodeLabel", "ServiceAffinity")
    assert "ServiceAffinity" in profile.plugins["preFilter"]


def test_gates_of_the_old_scheduler_become_plugins_and_arguments() -> None:
    gates = {"BalanceAttachedNodeVolumes": True, "NotKnown": True, "SidecarContainers": False}
    conversion = converted("v1beta1", featureGates=gates)
    [profile] = profiles(conversion)
    args = profile.args["NodeResourcesBalancedAllocationLegacy"]
    assert args.balance_attached_node_volumes
    assert "feature gate NotKnown does not exist in 1.36 and is left out" in conversion.notes
    assert any(
        note.startswith("feature gate SidecarContainers cannot") for note in conversion.notes
    )
    written = yaml.safe_load(conversion.configuration)
    assert written["featureGates"] == {"SchedulerPopFromBackoffQ": False}


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
def test_scores_by_the_use_of_volumes_become_a_plugin(version: str) -> None:
    shape = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    args = {"bindTimeoutSeconds": 60, "shape": shape}
    config = [{"name": "VolumeBinding", "args": args}]
    [profile] = profiles(converted(version, profiles=[{"pluginConfig": config}]))
    assert profile.score_weights["VolumeCapacityPriority"] == 1
    assert profile.args["VolumeBinding"].bind_timeout_seconds == 60
    assert [point.score for point in profile.args["VolumeCapacityPriority"].shape] == [10, 0]


def test_selector_spread_is_known_by_its_earlier_name() -> None:
    scorers = {"score": {"enabled": [{"name": "DefaultPodTopologySpread", "weight": 2}]}}
    assert scores(converted("v1alpha2", profiles=[{"plugins": scorers}]))["SelectorSpread"] == 2


@pytest.mark.parametrize(
    ("constraints", "defaulting"), [([], SYSTEM_DEFAULTING), (["rack"], LIST_DEFAULTING)]
)
def test_v1beta1_default_constraints_made_their_own_type(
    constraints: list[str], defaulting: str
) -> None:
    given = [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
        for key in constraints
    ]
    config = [{"name": "PodTopologySpread", "args": {"defaultConstraints": given}}]
    [profile] = profiles(converted("v1beta1", profiles=[{"pluginConfig": config}]))
    assert profile.args["PodTopologySpread"].defaulting_type == defaulting


def test_v1beta2_has_the_weights_and_the_balance_of_its_time() -> None:
    conversion = converted(
        "v1beta2",
        profiles=[
            {
                "plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": 9}]}},
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "apiVersion": f"{GROUP}/v1beta2",
                            "kind": "NodeResourcesFitArgs",
                            "scoringStrategy": {"type": "MostAllocated"},
                        },
                    }
                ],
            }
        ],
    )
    [profile] = profiles(conversion)
    assert profile.extension_points()["score"] == [
        ["NodeResourcesBalancedAllocationV1beta3", 1],
        ["ImageLocality", 1],
        ["InterPodAffinity", 1],
        ["NodeResourcesFit", 1],
        ["NodeAffinity", 9],
        ["PodTopologySpread", 2],
        ["TaintToleration", 1],
    ]
    assert profile.args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"
    # What these scorers prepare, today they prepare in preScore.
    assert "NodeResourcesFit" in profile.plugins["preScore"]


def test_a_scorer_less_profile_stays_without_scorers() -> None:
    nothing = {"disabled": [{"name": "*"}]}
    conversion = converted(
        "v1beta2",
        profiles=[
            {"schedulerName": "default-scheduler"},
            {"schedulerName": "fast", "plugins": {"preScore": nothing, "score": nothing}},
        ],
    )
    default, fast = profiles(conversion)
    assert fast.plugins["score"] == fast.plugins["preScore"] == ()
    assert default.plugins["score"]


V1BETA3_MULTI_POINT = """
apiVersion: kubescheduler.config.k8s.io/v1beta3
kind: KubeSchedulerConfiguration
parallelism: 8
profiles:
- schedulerName: multipoint-scheduler
  percentageOfNodesToScore: 40
  plugins:
    multiPoint:
      enabled:
      - name: ImageLocality
        weight: 5
      disabled:
      - name: NodeName
  pluginConfig:
  - name: InterPodAffinity
    args:
      apiVersion: kubescheduler.config.k8s.io/v1beta3
      kind: InterPodAffinityArgs
      hardPodAffinityWeight: 3
"""


def test_v1beta3_is_expanded_as_its_release_did() -> None:
    conversion = convert(V1BETA3_MULTI_POINT, TABLE)
    configuration = load(conversion.configuration, TABLE, legacy=True)
    [profile] = configuration.profiles
    assert (configuration.parallelism, profile.percentage_of_nodes_to_score) == (8, 40)
    assert profile.scheduler_name == "multipoint-scheduler"
    assert profile.extension_points()["score"] == [
        ["TaintToleration", 3],
        ["NodeAffinity", 2],
        ["NodeResourcesFit", 1],
        ["PodTopologySpread", 2],
        ["InterPodAffinity", 2],
        ["NodeResourcesBalancedAllocationV1beta3", 1],
        ["ImageLocality", 5],
    ]
    assert profile.plugins["filter"] == (
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "EBSLimits",
        "GCEPDLimits",
        "NodeVolumeLimits",
        "AzureDiskLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    )
    assert profile.plugins["preEnqueue"] == ("SchedulingGates",)
    assert profile.plugins["postFilter"] == ("DefaultPreemption",)
    assert profile.args["InterPodAffinity"].hard_pod_affinity_weight == 3


def test_v1beta3_may_run_plugins_that_v1_has_removed() -> None:
    limits = {"multiPoint": {"enabled": [{"name": "CinderLimits"}]}}
    conversion = converted("v1beta3", profiles=[{"plugins": limits}])
    assert profiles(conversion)[0].plugins["filter"][-1] == "CinderLimits"
    assert "CinderLimits" in conversion.notes[-1]


def test_a_plugin_of_multi_point_that_does_not_exist_is_named() -> None:
    unknown = {"multiPoint": {"enabled": [{"name": "Quota"}]}}
    with pytest.raises(ConfigError, match='plugin "Quota" does not exist'):
        converted("v1beta3", profiles=[{"plugins": unknown}])


@pytest.mark.parametrize("version", ["v1", "v1beta3"])
def test_resources_in_the_wrong_case_are_noted(version: str) -> None:
    """The bin packing examples of the documents; CPU is not a resource, and counts nothing."""
    strategy = {
        "type": "MostAllocated",
        "resources": [{"name": "CPU", "weight": 1}, {"name": "memory", "weight": 1}],
    }
    config = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    conversion = converted(version, profiles=[{"pluginConfig": config}])
    assert (
        "default-scheduler: pluginConfig NodeResourcesFit, scoringStrategy.resources[0].name: no "
        'node has a resource "CPU", so it does not count. Names are case-sensitive: write "cpu".'
        in conversion.notes
    )


def test_v1_is_no_work() -> None:
    body = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "parallelism": 3}
    conversion = convert(body, TABLE)
    assert not conversion.legacy
    assert yaml.safe_load(conversion.configuration) == body


def test_plugins_from_outside_the_tree_stay() -> None:
    body = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": KIND,
        "profiles": [
            {
                "plugins": {"filter": {"enabled": [{"name": "Quota"}]}},
                "pluginConfig": [{"name": "Quota", "args": {"limit": 1}}],
            }
        ],
    }
    quota = KnownPlugin(name="Quota", extension_points=frozenset({"filter"}))
    known = {**TABLE, "Quota": quota}
    conversion = convert(body, known)
    configuration = load(conversion.configuration, known, legacy=True)
    assert configuration.profiles[0].args["Quota"] == {"limit": 1}
    with pytest.raises(ConfigError, match='"Quota" does not exist'):
        convert(body, TABLE)


def test_the_source_is_not_changed() -> None:
    affinity: dict[str, Any] = {}
    body = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": KIND,
        "profiles": [
            {
                "plugins": {"filter": {"enabled": [{"name": "NodeLabel"}]}},
                "pluginConfig": [
                    {"name": "NodeLabel", "args": {"presentLabels": ["a"]}},
                    {"name": "NodeAffinity", "args": {"addedAffinity": affinity}},
                ],
            }
        ],
    }
    convert(body, TABLE)
    assert affinity == {}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"apiVersion": f"{GROUP}/v2", "kind": KIND}, "apiVersion"),
        ({"apiVersion": "apps/v1beta1", "kind": KIND}, "apiVersion"),
        ({"apiVersion": "v2", "kind": "Policy"}, "apiVersion"),
        ({"apiVersion": f"{GROUP}/v1beta1", "kind": KIND, "profiles": "a"}, "profiles"),
        (
            {"apiVersion": f"{GROUP}/v1beta1", "kind": KIND, "parallelism": 0},
            "parallelism",
        ),
        ({}, "apiVersion"),
    ],
)
def test_what_is_no_old_configuration_is_refused(body: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        convert(body, TABLE)
    assert refusal.value.causes[0].field == field


def test_conversions_name_plugins_that_exist() -> None:
    named = {value for key, value in vars(names).items() if key.isupper()}
    assert named <= TABLE.keys()
