"""Warnings about accepted objects."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster import kinds
from apps.cluster.warnings import warnings_of

Body = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod(name: str = "p", *, annotations: Body | None = None, **spec: Any) -> Body:
    metadata = {"name": name, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}


def test_an_ordinary_pod_has_no_warnings() -> None:
    assert warnings_of(kinds.POD, pod()) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (pod("a.b"), "metadata.name: this is used in the Pod's hostname"),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
            '"kubernetes.io/os" instead',
        ),
        (
            pod(
                affinity={
                    "nodeAffinity": {
                        PREFERRED: [
                            {
                                "preference": {
                                    "matchExpressions": [
                                        {"key": "beta.kubernetes.io/instance-type"}
                                    ]
                                }
                            }
                        ]
                    }
                }
            ),
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].key: "
            "beta.kubernetes.io/instance-type is deprecated since v1.17",
        ),
        (
            pod(affinity={"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}),
            f"spec.affinity.podAntiAffinity.{REQUIRED}[0].labelSelector: a null labelSelector",
        ),
        (
            pod(topologySpreadConstraints=[{"topologyKey": "zone"}]),
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in",
        ),
        (
            pod(annotations={"scheduler.alpha.kubernetes.io/critical-pod": ""}),
            "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional",
        ),
        (
            pod(containers=[{"name": "c", "resources": {"limits": {"memory": "100m"}}}]),
            'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid',
        ),
        (
            pod(terminationGracePeriodSeconds=-1),
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid",
        ),
    ],
)
def test_a_warning_names_its_field(body: Body, told: str) -> None:
    (warning,) = warnings_of(kinds.POD, body)
    assert warning.startswith(told)
    if not told.startswith("metadata.name"):
        (of_template,) = warnings_of(kinds.by_name("Deployment"), {"spec": {"template": body}})
        assert of_template == f"spec.template.{warning}"
