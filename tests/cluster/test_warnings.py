"""Warnings about accepted objects."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster import kinds
from apps.cluster.warnings.objects import warnings_of, warnings_of_update

Body = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod(name: str = "p", *, annotations: Body | None = None, **spec: Any) -> Body:
    metadata = {"name": name, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}


def port(number: int, **others: Any) -> Body:
    return {"containerPort": number, "protocol": "TCP", **others}


def with_ports(*ports: Body) -> Body:
    return {"name": "c", "ports": list(ports)}


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
            pod(hostAliases=[{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]),
            'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
        ),
        (
            pod(imagePullSecrets=[{"name": ""}]),
            'spec.imagePullSecrets[0].name: invalid empty name ""',
        ),
        (
            pod(volumes=[{"name": "v", "gitRepo": {}}]),
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
        ),
        (
            pod(annotations={"container.seccomp.security.alpha.kubernetes.io/c": ""}),
            "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: "
            "non-functional in v1.27+",
        ),
        (
            pod(containers=[{"name": "c", "env": [{"name": "X"}, {"name": "X", "value": "1"}]}]),
            'spec.containers[0].env[1]: hides previous definition of "X", which may be dropped',
        ),
        (
            pod(containers=[with_ports(port(80, hostIP="10.0.0.1"))]),
            "spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 "
            "ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}",
        ),
        (
            pod(containers=[with_ports(port(80)), with_ports(port(80))]),
            "spec.containers[1].ports[0]: duplicate port definition with "
            "spec.containers[0].ports[0]",
        ),
        (
            pod(containers=[with_ports(port(80), port(80, hostPort=80))]),
            "spec.containers[0].ports[1]: overlapping port definition with "
            "spec.containers[0].ports[0]",
        ),
        (
            pod(
                containers=[
                    with_ports(port(80, hostPort=8), port(80, hostPort=8, hostIP="10.0.0.1"))
                ]
            ),
            "spec.containers[0].ports[1]: dangerously ambiguous port definition with "
            "spec.containers[0].ports[0]",
        ),
    ],
)
def test_a_warning_names_its_field(body: Body, told: str) -> None:
    (warning,) = warnings_of(kinds.POD, body)
    assert warning.startswith(told)
    if not told.startswith("metadata.name"):
        deployment = {"metadata": {"name": "d"}, "spec": {"template": body}}
        (of_template,) = warnings_of(kinds.by_name("Deployment"), deployment)
        there = warning.replace(" with spec.", " with spec.template.spec.")
        assert of_template == f"spec.template.{there}"


def test_a_variable_that_continues_the_one_before_has_no_warning() -> None:
    values = [{"name": "X", "value": value} for value in ("1", "$(X)2", "a$(X)")]
    assert warnings_of(kinds.POD, pod(containers=[{"name": "c", "env": values}])) == []


def test_files_of_a_volume_that_hide_each_other_are_named() -> None:
    items = [{"key": "k", "path": path} for path in ("x", "x-a", "x/y")]
    volumes = [
        {"name": "v", "configMap": {"name": "m", "items": items}},
        {
            "name": "p",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "t"}},
                    {"downwardAPI": {"items": [{"path": "t/a"}]}},
                    {},
                ]
            },
        },
    ]
    assert warnings_of(kinds.POD, pod(volumes=volumes)) == [
        'volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"',
        'volume "p" (Projected) has no sources provided',
        'volume "p" (Projected): overlapping paths: "t/a" (DownwardAPI) with "t" '
        "(ServiceAccountToken)",
    ]


def test_an_update_warns_about_a_template_if_the_generation_rises() -> None:
    kind, template = kinds.by_name("Deployment"), pod(terminationGracePeriodSeconds=-1)
    old, new = (
        {"metadata": {"name": "d.d", "generation": number}, "spec": {"template": template}}
        for number in (1, 2)
    )
    (warning,) = warnings_of_update(kind, new, old)
    assert warning.startswith("spec.template.spec.terminationGracePeriodSeconds: must be >= 0;")
    assert warnings_of_update(kind, new, new) == []
    assert len(warnings_of(kind, new)) == 2


def test_a_service_warns_at_each_update() -> None:
    spec = {"type": "ExternalName", "externalIPs": ["fd00:0::1"]}
    service = {"metadata": {"name": "s"}, "spec": spec}
    kind = kinds.by_name("Service")
    expected = [
        'spec.externalIPs[0]: IPv6 address "fd00:0::1" should be in RFC 5952 canonical format '
        '("fd00::1")',
        'spec.externalIPs is ignored when spec.type is "ExternalName"',
    ]
    assert warnings_of(kind, service) == warnings_of_update(kind, service, service) == expected
