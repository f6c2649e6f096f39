"""What a plugin class declares, and what configurations make of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from apps.scheduler.config import API_VERSION, KIND, ConfigError, Profile, load
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.plugin_table import Origin
from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.framework.interface import implemented_points
from apps.scheduler.plugins.registry import PLUGINS


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaArgs:
    max_pods: int = 10


class Quota:
    name = "Quota"
    args_type = QuotaArgs
    default_weight = 7

    @staticmethod
    def default_args(args: QuotaArgs) -> QuotaArgs:
        return replace(args, max_pods=args.max_pods or 10)

    @staticmethod
    def check_args(args: QuotaArgs, path: str, problems: Problems) -> None:
        if args.max_pods < 0:
            problems.invalid(f"{path}.maxPods", args.max_pods, "must not be negative")

    def score(self) -> None: ...


class RawQuota:
    name = "RawQuota"

    @staticmethod
    def check_args(args: Any, path: str, problems: Problems) -> None:
        if "maxPods" not in args:
            problems.required(f"{path}.maxPods")

    def filter(self) -> None: ...

    def reserve(self) -> None: ...


def profile(plugin: type[Any], weight: int | None = None, **args: Any) -> Profile:
    enabled = {"name": plugin.name} | ({} if weight is None else {"weight": weight})
    written = {
        "plugins": {"multiPoint": {"enabled": [enabled]}},
        "pluginConfig": [{"name": plugin.name, "args": args}],
    }
    body = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [written]}
    return load(body, plugin_table(PLUGINS, outside=[plugin])).profiles[0]


def test_a_class_tells_its_extension_points_by_its_methods() -> None:
    # Without unreserve it is no Reserve plugin.
    assert implemented_points(RawQuota) == {"filter"}
    assert profile(RawQuota, maxPods=1).plugins["filter"][-1] == "RawQuota"


def test_arguments_are_decoded_as_the_declared_type() -> None:
    assert profile(Quota, maxPods=3).args["Quota"] == QuotaArgs(max_pods=3)


def test_empty_arguments_are_defaulted_by_the_plugin() -> None:
    assert profile(Quota, maxPods=0).args["Quota"] == QuotaArgs(max_pods=10)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"maxPods": "3"}, 'maxPods: Invalid value: "3": must be an integer'),
        ({"maxPod": 3}, 'maxPod: unknown field "maxPod"'),
        ({"maxPods": -1}, "maxPods: Invalid value: -1: must not be negative"),
        ({"kind": "NodeAffinityArgs"}, "kind: args for plugin Quota were not of type QuotaArgs"),
    ],
)
def test_wrong_arguments_are_refused_with_their_place(args: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        profile(Quota, **args)
    assert str(refusal.value).startswith(f"profiles[0].pluginConfig[0].args.{message}")


def test_arguments_without_a_type_are_checked_as_they_are_written() -> None:
    assert profile(RawQuota, maxPods={"web": 3}).args["RawQuota"] == {"maxPods": {"web": 3}}
    with pytest.raises(ConfigError, match="args.maxPods: Required value"):
        profile(RawQuota, maxPod=3)


def test_a_plugin_that_fails_to_check_its_arguments_is_named() -> None:
    class Clumsy(RawQuota):
        @staticmethod
        def check_args(args: Any, path: str, problems: Problems) -> None:
            raise KeyError("what")

    with pytest.raises(ConfigError, match="plugin RawQuota failed to check its arguments: KeyErr"):
        profile(Clumsy)


def test_the_declared_weight_counts_where_the_profile_has_none() -> None:
    assert profile(Quota).score_weights["Quota"] == 7
    assert profile(Quota, 3).score_weights["Quota"] == 3


def test_a_plugin_from_outside_cannot_replace_one_of_the_tree() -> None:
    class NodeName:
        name = "NodeName"

        def score(self) -> None: ...

    found = plugin_table(PLUGINS, outside=[NodeName])["NodeName"]
    assert found.origin is Origin.IN_TREE
    assert found.extension_points == {"filter"}
