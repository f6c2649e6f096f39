"""Whatever stands where in a configuration, it is read or refused, never a crash."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.config import API_VERSION, KIND, ConfigError, load
from legacy_plugins.conversion import convert
from tests.legacy_plugins.policies import TABLE

V1: dict[str, Any] = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "parallelism": 4,
    "leaderElection": {"leaderElect": True, "leaseDuration": "15s"},
    "clientConnection": {"qps": 5, "burst": 10},
    "extenders": [
        {
            "urlPrefix": "http://x",
            "tlsConfig": {"caData": "Zm9v"},
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
        }
    ],
    "profiles": [
        {
            "schedulerName": "a",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "NodeName", "weight": 2}]},
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]},
            },
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "ignoredResources": ["a"],
                        "scoringStrategy": {
                            "type": "RequestedToCapacityRatio",
                            "resources": [{"name": "cpu", "weight": 1}],
                            "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 1}]},
                        },
                    },
                },
                {
                    "name": "NodeAffinity",
                    "args": {
                        "addedAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {
                                        "matchExpressions": [
                                            {"key": "a", "operator": "In", "values": ["b"]}
                                        ]
                                    }
                                ]
                            }
                        }
                    },
                },
            ],
        }
    ],
}
V1BETA1: dict[str, Any] = {
    **V1,
    "apiVersion": "kubescheduler.config.k8s.io/v1beta1",
    "profiles": [
        {
            **V1["profiles"][0],
            "plugins": {"filter": {"enabled": [{"name": "NodeLabel"}]}},
            "pluginConfig": [
                {"name": "NodeLabel", "args": {"presentLabels": ["a"]}},
                V1["profiles"][0]["pluginConfig"][1],
            ],
        }
    ],
}
V1ALPHA1: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
    "kind": KIND,
    "algorithmSource": {"policy": {"configMap": {"namespace": "a", "name": "b"}}},
    "leaderElection": {"lockObjectName": "a", "resourceLock": "endpoints"},
    "plugins": {"postFilter": {"enabled": [{"name": "NodeAffinity"}]}},
}
POLICY: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Policy",
    "predicates": [
        {"name": "MatchNodeSelector"},
        {"name": "a", "argument": {"labelsPresence": {"labels": ["b"], "presence": True}}},
    ],
    "priorities": [
        {
            "name": "a",
            "weight": 1,
            "argument": {
                "requestedToCapacityRatioArguments": {"shape": [{"utilization": 0, "score": 1}]}
            },
        }
    ],
    "extenders": [{"urlPrefix": "http://x", "tlsConfig": {"insecure": True}}],
}

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "*", "NodeName", "NodeAffinity", "In", "5s", "a/b", "\x00"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "weight", "enabled", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a document."""
    items = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value) if isinstance(value, list) else ())
    )
    return [found for key, item in items for found in [(*path, key), *places(item, (*path, key))]]


@st.composite
def damaged(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """The document with something else in one of its places."""
    result = copy.deepcopy(document)
    *parents, last = draw(st.sampled_from(places(document)))
    inside: Any = result
    for key in parents:
        inside = inside[key]
    inside[last] = draw(VALUES)
    return result


@settings(max_examples=150, deadline=None)
@given(damaged(V1))
def test_load_accepts_or_refuses(document: dict[str, Any]) -> None:
    try:
        configuration = load(document, TABLE)
    except ConfigError as refusal:
        assert refusal.causes
    else:
        assert all(profile.plugins["bind"] for profile in configuration.profiles)


@settings(max_examples=150, deadline=None)
@given(st.one_of(damaged(V1BETA1), damaged(V1ALPHA1), damaged(POLICY)))
def test_convert_accepts_or_refuses(document: dict[str, Any]) -> None:
    try:
        conversion = convert(document, TABLE)
    except ConfigError as refusal:
        assert refusal.causes
    else:
        load(conversion.configuration, TABLE, legacy=conversion.legacy)
