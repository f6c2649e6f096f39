"""HorizontalPodAutoscalers, by the usage that annotations describe."""

from __future__ import annotations

from typing import Any

import pytest

from apps.api.kubernetes.protobuf import envelopes
from apps.controllers.usage.curves import CPU
from tests.controllers.conftest import Body, Lab
from tests.controllers.test_workloads import workload

pytestmark = pytest.mark.django_db(transaction=True)


def autoscaler(**spec: Any) -> Body:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    metrics = [{"type": "Resource", "resource": cpu}]
    limits = {"minReplicas": 1, "maxReplicas": 10, "metrics": metrics}
    return {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, **limits, **spec}}


def deployment(lab: Lab, usage: str) -> None:
    body = workload("web", replicas=2)
    template = body["spec"]["template"]
    template["metadata"]["annotations"] = {CPU: usage}
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    lab.create("Deployment", body)


def use(lab: Lab, usage: str) -> None:
    """Let the running pods use another amount."""
    for pod in lab.all("Pod"):

        def change(body: Body) -> Body:
            annotations = {**body["metadata"]["annotations"], CPU: usage}
            return {**body, "metadata": {**body["metadata"], "annotations": annotations}}

        lab.change("Pod", pod["metadata"]["name"], change)


def replicas(lab: Lab) -> int:
    return int(lab.get("Deployment", "web")["spec"]["replicas"])


def reasons(lab: Lab) -> dict[str, str]:
    conditions = lab.get("HorizontalPodAutoscaler", "web")["status"]["conditions"]
    return {each["type"]: each["reason"] for each in conditions}


@pytest.fixture
def scaled(lab: Lab) -> Lab:
    lab.node("n1")
    deployment(lab, "95%")
    lab.settle()
    lab.create("HorizontalPodAutoscaler", autoscaler())
    lab.settle()
    return lab


def test_a_workload_grows_with_its_usage_and_shrinks_later(scaled: Lab) -> None:
    # nearly twice the target: each pod uses up to 5 % more or less than its annotation says
    assert replicas(scaled) == 4
    status = scaled.get("HorizontalPodAutoscaler", "web")["status"]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 4)
    (metric,) = status["currentMetrics"]
    assert 90 <= metric["resource"]["current"]["averageUtilization"] <= 100
    # kubectl describe asks for protobuf
    assert envelopes.encode(scaled.get("HorizontalPodAutoscaler", "web"))
    assert reasons(scaled) == {
        "AbleToScale": "SucceededRescale",
        "ScalingActive": "ValidMetricFound",
        "ScalingLimited": "DesiredWithinRange",
    }
    (event,) = scaled.events("SuccessfulRescale")
    assert event["message"] == (
        "New size: 4; reason: cpu resource utilization (percentage of request) above target"
    )

    scaled.advance(15)
    assert replicas(scaled) == 8
    scaled.advance(15)
    assert replicas(scaled) == 10
    assert reasons(scaled)["ScalingLimited"] == "TooManyReplicas"

    use(scaled, "10%")
    scaled.advance(60)
    assert replicas(scaled) == 10
    assert reasons(scaled)["AbleToScale"] == "ScaleDownStabilized"
    scaled.advance(300)
    assert replicas(scaled) < 10


def test_why_a_workload_is_not_scaled(scaled: Lab) -> None:
    def set_spec(**spec: Any) -> None:
        changed = autoscaler(**spec)["spec"]
        scaled.change("HorizontalPodAutoscaler", "web", lambda body: {**body, "spec": changed})
        scaled.advance(15)

    size = replicas(scaled)
    memory = {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}}
    set_spec(metrics=[{"type": "Resource", "resource": memory}])
    assert reasons(scaled)["ScalingActive"] == "FailedGetResourceMetric"
    message = scaled.condition("HorizontalPodAutoscaler", "web", "ScalingActive")["message"]
    assert "failed to get memory utilization: missing request for memory in container c" in message
    (event,) = scaled.events("FailedComputeMetricsReplicas")
    first = "first error is: failed to get memory resource metric value: failed to get memory"
    assert f"invalid metrics (1 invalid out of 1), {first}" in event["message"]
    status = scaled.get("HorizontalPodAutoscaler", "web")["status"]
    assert status["currentMetrics"] == [{"type": ""}]
    external = {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"}}
    set_spec(metrics=[{"type": "External", "external": external}])
    assert reasons(scaled)["ScalingActive"] == "FailedGetExternalMetric"
    set_spec(scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"})
    assert reasons(scaled)["AbleToScale"] == "FailedGetScale"
    message = scaled.condition("HorizontalPodAutoscaler", "web", "AbleToScale")["message"]
    assert message.endswith('deployments.apps "none" not found')
    assert replicas(scaled) == size

    set_spec(behavior={"scaleUp": {"selectPolicy": "Disabled"}})
    assert replicas(scaled) == size
    assert reasons(scaled)["ScalingLimited"] == "ScaleUpLimit"
    policy = {"type": "Pods", "value": 1, "periodSeconds": 15}
    set_spec(behavior={"scaleUp": {"policies": [policy]}})
    assert replicas(scaled) == size + 1
    set_spec(maxReplicas=3)
    assert replicas(scaled) == 3
    (*_, event) = scaled.events("SuccessfulRescale")
    assert event["message"].endswith("Current number of replicas above Spec.MaxReplicas")


def test_autoscalers_of_one_workload_do_not_scale_it(scaled: Lab) -> None:
    size = replicas(scaled)
    second = autoscaler(maxReplicas=2)
    second["metadata"]["name"] = "second"
    scaled.create("HorizontalPodAutoscaler", second)
    scaled.advance(15)
    assert replicas(scaled) == size
    assert reasons(scaled)["ScalingActive"] == "AmbiguousSelector"
    message = scaled.condition("HorizontalPodAutoscaler", "web", "ScalingActive")["message"]
    both = "[default/second default/web]"
    assert message == f"pods by selector app=web are controlled by multiple HPAs: {both}"


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "m"},
                    "target": {"type": "AverageValue", "averageValue": "1"},
                },
            },
            "failed to get pods metric value: unable to get metric m: unable to fetch metrics from "
            "custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "m"},
                    "describedObject": {"kind": "Service", "name": "s"},
                    "target": {"type": "AverageValue", "averageValue": "1"},
                },
            },
            "failed to get object metric value: failed to get m object metric: unable to get "
            "metric m: Service on default s/unable to fetch metrics from custom metrics API: "
            "no custom metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "m", "selector": {"matchLabels": {"x": "y"}}},
                    "target": {"type": "Value", "value": "1"},
                },
            },
            "failed to get m external metric value: failed to get external metric m: unable to get "
            "external metric default/m/&LabelSelector{MatchLabels:map[string]string{x: y,},"
            "MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch metrics from "
            "external metrics API: the server could not find the requested resource "
            "(get m.external.metrics.k8s.io)",
        ),
    ],
)
def test_metrics_of_other_apis_are_missing(scaled: Lab, metric: Body, message: str) -> None:
    changed = autoscaler(metrics=[metric])["spec"]
    scaled.change("HorizontalPodAutoscaler", "web", lambda body: {**body, "spec": changed})
    scaled.advance(15)
    (event,) = scaled.events("FailedComputeMetricsReplicas")
    assert event["message"].partition("first error is: ")[2] == message
