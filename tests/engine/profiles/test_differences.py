"""The effective differences between two configurations."""

from __future__ import annotations

from apps.engine.profiles.configuration_differences import compare_configurations
from apps.scheduler.config import Configuration, load
from apps.scheduler.plugins.registry import TABLE

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def compare(before: str, after: str) -> dict[str, list[tuple[str, str, str]]]:
    found = compare_configurations(load_with_head(before), load_with_head(after))
    return {
        f"{each.scheduler_name} {each.status}".strip(): [
            (difference.what, difference.before, difference.after)
            for difference in each.differences
        ]
        for each in found
    }


def load_with_head(text: str) -> Configuration:
    return load(HEAD + text, TABLE)


def test_an_explicit_default_is_not_a_difference() -> None:
    written = """\
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - {name: NodeResourcesFit, weight: 1}
"""
    assert compare("", written) == {}


def test_plugins_weights_and_arguments_are_compared_by_profile() -> None:
    after = """\
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      disabled: [{name: ImageLocality}]
      enabled: [{name: NodeResourcesFit, weight: 5}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 2}]}}
"""
    [(profile, differences)] = compare("", after).items()
    assert profile == "default-scheduler changed"
    assert ("score: ImageLocality", "enabled", "disabled") in differences
    assert ("weight of ImageLocality", "1", "–") in differences
    assert ("weight of NodeResourcesFit", "1", "5") in differences
    strategy = "arguments: NodeResourcesFit.scoringStrategy"
    assert (f"{strategy}.type", "LeastAllocated", "MostAllocated") in differences
    assert (f"{strategy}.resources[cpu].weight", "1", "2") in differences


def test_settings_of_all_profiles_come_first_and_added_and_removed_profiles_follow() -> None:
    one = "podMaxBackoffSeconds: 20\nprofiles: [{schedulerName: a}, {schedulerName: b}]\n"
    other = "percentageOfNodesToScore: 50\nprofiles: [{schedulerName: b}, {schedulerName: c}]\n"
    found = compare(one, other)
    assert list(found) == ["changed", "a removed", "c added"]
    assert ("podMaxBackoffSeconds", "20", "10") in found["changed"]
    assert any(what == "percentageOfNodesToScore" for what, _, _ in found["changed"])


def test_the_order_of_filters_is_a_difference() -> None:
    after = """\
profiles:
- plugins:
    filter:
      disabled: [{name: "*"}]
      enabled: [{name: NodeName}, {name: NodeUnschedulable}]
"""
    swapped = after.replace(
        "{name: NodeName}, {name: NodeUnschedulable}", "{name: NodeUnschedulable}, {name: NodeName}"
    )
    found = compare(after, swapped)["default-scheduler changed"]
    assert ("filter: order", "NodeName, NodeUnschedulable", "NodeUnschedulable, NodeName") in found


def test_extenders_are_compared_field_by_field() -> None:
    one = "extenders: [{urlPrefix: 'http://a.example', filterVerb: filter, weight: 1}]\n"
    other = one.replace("filterVerb: filter", "filterVerb: sieve")
    assert compare(one, other)["changed"] == [("extenders[0].filterVerb", "filter", "sieve")]
