"""Which plugins are in effect, in which order, with which weights."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.config import API_VERSION, KIND, ConfigError, Profile, load
from apps.scheduler.config.plugin_table import KnownPlugin, Origin
from apps.scheduler.config.types import EXTENSION_POINTS
from apps.scheduler.framework import interface
from apps.scheduler.plugins.registry import TABLE

CUSTOM = [
    KnownPlugin(name="Quota", extension_points=frozenset({"preFilter", "filter", "score"})),
    KnownPlugin(name="Sort", extension_points=frozenset({"queueSort"})),
]
KNOWN = {**TABLE, **{plugin.name: plugin for plugin in CUSTOM}}


def profile(**plugins: Any) -> Profile:
    body = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [{"plugins": plugins}]}
    return load(body, KNOWN).profiles[0]


def names(*plugins: str | tuple[str, int]) -> list[dict[str, Any]]:
    return [
        {"name": plugin} if isinstance(plugin, str) else {"name": plugin[0], "weight": plugin[1]}
        for plugin in plugins
    ]


def test_extension_points_are_those_of_the_framework() -> None:
    assert tuple(interface.EXTENSION_POINTS) == EXTENSION_POINTS


def test_a_custom_plugin_runs_after_the_default_ones_wherever_it_can() -> None:
    found = profile(multiPoint={"enabled": names(("Quota", 5))})
    assert found.plugins["preFilter"][-1] == "Quota"
    assert found.plugins["filter"][-1] == "Quota"
    assert found.plugins["score"][-1] == "Quota"
    assert found.score_weights["Quota"] == 5
    assert "Quota" not in found.plugins["preScore"]


def test_the_arguments_of_a_custom_plugin_stay_as_they_are_written() -> None:
    body = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [
            {
                "plugins": {"filter": {"enabled": names("Quota")}},
                "pluginConfig": [{"name": "Quota", "args": {"limits": {"a": 1}}}],
            }
        ],
    }
    found = load(body, KNOWN).profiles[0]
    assert found.args["Quota"] == {"limits": {"a": 1}}


def test_a_custom_plugin_that_is_not_registered_is_refused() -> None:
    body = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [{"plugins": {"filter": {"enabled": names("Quota")}}}],
    }
    with pytest.raises(ConfigError, match='FilterPlugin "Quota" does not exist'):
        load(body, TABLE)


def test_a_custom_plugin_can_sort_the_queue_instead() -> None:
    found = profile(queueSort={"enabled": names("Sort"), "disabled": names("*")})
    assert found.plugins["queueSort"] == ("Sort",)


def test_overrides_come_first_then_multi_point_then_the_rest() -> None:
    found = profile(
        multiPoint={
            "disabled": names("*"),
            "enabled": names(
                "PrioritySort", "DefaultBinder", "NodeAffinity", "ImageLocality", "TaintToleration"
            ),
        },
        score={"enabled": names("Quota", ("TaintToleration", 9))},
    )
    assert found.extension_points()["score"] == [
        ["TaintToleration", 9],
        ["NodeAffinity", 1],
        ["ImageLocality", 1],
        ["Quota", 1],
    ]


def test_a_point_can_leave_out_one_plugin_of_multi_point() -> None:
    found = profile(filter={"disabled": names("NodePorts")})
    assert "NodePorts" not in found.plugins["filter"]
    assert "NodePorts" in found.plugins["preFilter"]


def test_a_point_that_disables_all_runs_only_what_it_names() -> None:
    found = profile(filter={"disabled": names("*"), "enabled": names("NodePorts", "NodeName")})
    assert found.plugins["filter"] == ("NodePorts", "NodeName")


def test_enabling_wins_over_disabling() -> None:
    found = profile(multiPoint={"disabled": names("NodeName"), "enabled": names("NodeName")})
    assert found.plugins["filter"][-1] == "NodeName"


def test_a_reconfigured_default_plugin_keeps_its_place_in_multi_point() -> None:
    before = profile().plugins["score"]
    found = profile(multiPoint={"enabled": names(("NodeAffinity", 50))})
    assert found.plugins["score"] == before
    assert found.score_weights["NodeAffinity"] == 50


@pytest.mark.parametrize(("weight", "effective"), [(0, 1), (None, 1), (7, 7)])
def test_a_weight_of_zero_or_none_is_one(weight: int | None, effective: int) -> None:
    found = profile(score={"enabled": [{"name": "ImageLocality", "weight": weight}]})
    assert found.score_weights["ImageLocality"] == effective


def test_a_negative_weight_overflows_if_another_plugin_follows() -> None:
    scorers = names(("ImageLocality", -1))
    with pytest.raises(ConfigError, match="could overflow"):
        profile(score={"enabled": scorers})
    alone = {"disabled": names("*"), "enabled": names("PrioritySort", "DefaultBinder")}
    found = profile(multiPoint=alone, score={"enabled": scorers})
    assert found.score_weights == {"ImageLocality": -1}


def test_plugin_names_lists_each_plugin_in_effect_once() -> None:
    in_tree = [plugin for plugin in TABLE.values() if plugin.origin is Origin.IN_TREE]
    # those of a feature gate that is off are left out
    default = {plugin.name for plugin in in_tree if plugin.feature_gate != "GangScheduling"}
    assert sorted(profile().plugin_names) == sorted(default)
