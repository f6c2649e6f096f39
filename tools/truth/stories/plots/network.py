"""Services with their endpoints, disruption budgets, autoscalers, quotas."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import by_image
from tools.truth.stories.plots.manifests import APP, image, pod, scale, workload
from tools.truth.stories.story import Create, Delete, EachPod, Patch, Play, Story, Wait

Body = dict[str, Any]


def _service(name: str = "web", **spec: Any) -> Create:
    given = {"selector": APP, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    return Create(
        {"kind": "Service", "metadata": {"name": name, "labels": {"a": "b"}}, "spec": given}
    )


def _web(replicas: int = 2, **spec: Any) -> Create:
    return Create(workload("Deployment", replicas=replicas, **spec))


def _budget(**spec: Any) -> Create:
    given = {"selector": {"matchLabels": APP}, **spec}
    return Create({"kind": "PodDisruptionBudget", "metadata": {"name": "budget"}, "spec": given})


def _scaler(metric: Body, **spec: Any) -> Create:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    given = {"scaleTargetRef": target, "maxReplicas": 4, "metrics": [metric], **spec}
    return Create(
        {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "scaler"}, "spec": given}
    )


def _quota(**hard: Any) -> Create:
    return Create({"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}})


_CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}
_EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}},
}
_SMALL = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}]}

STORIES = (
    Story(
        "service-endpoints",
        [
            [_service()],
            [_web()],
            [Play(by_image({}, "Running"))],
            [Patch("Deployment", "web", scale(3)), Play(by_image({}))],
            [Patch("Service", "web", {"spec": {"ports": [{"port": 80, "targetPort": 9090}]}})],
            [Delete("Service", "web")],
        ],
    ),
    Story(
        "service-headless",
        [
            [
                _service(clusterIP="None"),
                Create(workload("StatefulSet", replicas=2, serviceName="web")),
            ],
            [Patch("StatefulSet", "web", scale(1))],
        ],
    ),
    Story(
        "service-not-ready",
        [[_service(publishNotReadyAddresses=True), _web()]],
        by_image({}, "Running"),
    ),
    Story(
        "service-no-selector",
        [[_service(selector=None)], [Patch("Service", "web", {"spec": {"selector": APP}})]],
    ),
    Story("service-no-ports", [[_service(clusterIP="None", ports=[]), _web(1)]]),
    Story(
        "service-named-port",
        [
            [
                _service(
                    ports=[
                        {"name": "http", "port": 80, "targetPort": "http", "appProtocol": "http"}
                    ]
                ),
                _web(
                    1,
                    pod={
                        "containers": [
                            {
                                "name": "c",
                                "image": "i:1",
                                "ports": [{"name": "http", "containerPort": 8080}],
                            }
                        ]
                    },
                ),
            ],
            [Patch("Service", "web", {"metadata": {"labels": {"c": "d"}}})],
        ],
    ),
    Story(
        "service-external",
        [[_service(type="ExternalName", externalName="example.com", ports=None)]],
    ),
    Story("service-roll", [[_service(), _web(2)], [Patch("Deployment", "web", image("i:2"))]]),
    Story(
        "endpoints-by-hand",
        [
            [
                _service(selector=None),
                Create(
                    {
                        "kind": "Endpoints",
                        "metadata": {"name": "web"},
                        "subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}],
                    }
                ),
            ],
            [Delete("Endpoints", "web")],
        ],
    ),
    Story(
        "budget-min",
        [
            [_web(3), _budget(minAvailable=1)],
            [EachPod(APP, None, 1)],
            [Patch("Deployment", "web", scale(1))],
        ],
    ),
    Story(
        "budget-percent",
        [[_web(4), _budget(maxUnavailable="30%")], [Patch("Deployment", "web", scale(8))]],
    ),
    Story("budget-min-percent", [[_web(3), _budget(minAvailable="50%")]]),
    Story(
        "budget-unhealthy", [[_web(3), _budget(maxUnavailable=1)], [Play(by_image({}, "Running"))]]
    ),
    Story(
        "budget-alone",
        [[Create(pod("one", APP)), Create(pod("two", APP)), _budget(minAvailable=1)]],
    ),
    Story(
        "budget-alone-percent",
        [[Create(pod("one", APP)), Create(pod("two", APP)), _budget(maxUnavailable="50%")]],
    ),
    Story("budget-empty", [[_budget(minAvailable=1)]]),
    Story(
        "budget-all",
        [
            [
                _budget(minAvailable="100%", selector={}),
                Create(workload("ReplicaSet", replicas=2)),
                Create(workload("StatefulSet", "db", replicas=1, serviceName="db")),
            ]
        ],
    ),
    Story("scaler-no-metrics", [[_web(2, pod=_SMALL), _scaler(_CPU), Wait(34)]]),
    Story("scaler-external", [[_web(2), _scaler(_EXTERNAL), Wait(34)]]),
    Story("scaler-limits", [[_web(6)], [_scaler(_CPU), Wait(34)]]),
    Story("scaler-minimum", [[_web(1), _scaler(_CPU, minReplicas=2), Wait(18)]]),
    Story("scaler-no-target", [[_scaler(_CPU), Wait(18)]]),
    Story("scaler-zero", [[_web(0), _scaler(_CPU), Wait(18)]]),
    Story(
        "quota-counts",
        [
            [
                _quota(
                    **{
                        "pods": "3",
                        "secrets": "5",
                        "count/deployments.apps": "1",
                        "requests.cpu": "4",
                    }
                )
            ],
            [_web(2, pod=_SMALL)],
            [Patch("Deployment", "web", scale(1))],
            [Patch("ResourceQuota", "q", {"spec": {"hard": {"services": "2"}}})],
        ],
    ),
)
