"""What belongs to what: owners, claims and volumes, endpoints in zones, generated objects."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import always
from tools.truth.stories.plots.manifests import APP, image, job, pod, scale, workload
from tools.truth.stories.story import Create, Delete, EachPod, Patch, Play, Story, Wait

Body = dict[str, Any]


def _claim(name: str, **spec: Any) -> Create:
    given = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
        **spec,
    }
    return Create({"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": given})


def _volume(name: str, story: str, size: str = "2Gi", **spec: Any) -> Create:
    """A volume whose class is the story, so that only its claims can have it."""
    given = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "storageClassName": story,
        **spec,
    }
    metadata = {"name": f"{name}.{story}", "labels": {"size": size}}
    return Create({"kind": "PersistentVolume", "metadata": metadata, "spec": given})


def _class(story: str, mode: str = "Immediate", **fields: Any) -> Create:
    body = {"kind": "StorageClass", "metadata": {"name": story}, "volumeBindingMode": mode}
    return Create({**body, "provisioner": "kubernetes.io/no-provisioner", **fields})


def _mounts(name: str, claim: str, **spec: Any) -> Create:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    return Create(pod(name, volumes=[volume], **spec))


def _service(**spec: Any) -> Create:
    given = {"selector": APP, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    return Create({"kind": "Service", "metadata": {"name": "web"}, "spec": given})


def _in_zone(node: str, zone: str) -> Patch:
    labels = {"topology.kubernetes.io/zone": zone}
    return Patch("Node", node, {"metadata": {"labels": labels}})


def _local(node: str) -> Body:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    terms = [{"matchExpressions": [term]}]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


def _role(name: str, *resources: str, labels: Body, **fields: Any) -> Create:
    rules = [{"apiGroups": [""], "resources": [each], "verbs": ["get"]} for each in resources]
    metadata = {"name": f"{name}.role-aggregation", "labels": labels}
    return Create({"kind": "ClusterRole", "metadata": metadata, "rules": rules, **fields})


_AGGREGATE = {"role-aggregation/to": "all"}
_EPHEMERAL = {
    "name": "scratch",
    "ephemeral": {
        "volumeClaimTemplate": {
            "metadata": {"labels": {"l": "m"}},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "none",
            },
        }
    },
}


def _devices(story: str, count: int) -> list[Create]:
    """A class of devices of the shared node, which only pods of the story ask for."""
    selector = {"cel": {"expression": f"device.driver == '{story}.example.com'"}}
    return [
        Create(
            {
                "kind": "DeviceClass",
                "metadata": {"name": f"class.{story}"},
                "spec": {"selectors": [selector]},
            }
        ),
        Create(
            {
                "kind": "ResourceSlice",
                "metadata": {"name": f"slice.{story}"},
                "spec": {
                    "driver": f"{story}.example.com",
                    "nodeName": "shared",
                    "pool": {"name": "shared", "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": f"d{number}"} for number in range(count)],
                },
            }
        ),
    ]


def _request(story: str) -> Body:
    exactly = {"deviceClassName": f"class.{story}"}
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}


def _claims_template(story: str) -> Create:
    return Create(
        {
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "t"},
            "spec": {"metadata": {"labels": {"l": "m"}}, "spec": _request(story)},
        }
    )


def _uses(**source: str) -> Body:
    container = {"name": "c", "image": "i:1", "resources": {"claims": [{"name": "gpu"}]}}
    return {"resourceClaims": [{"name": "gpu", **source}], "containers": [container]}


STORIES = (
    Story(
        "service-many",
        [
            [Create(workload("ReplicaSet", replicas=108))],
            [_service()],
            [Patch("Service", "web", {"metadata": {"labels": {"x": "y"}}})],
            [Patch("ReplicaSet", "web", scale(0))],
        ],
        crowd=True,
    ),
    Story(
        "service-zones",
        [
            [
                _in_zone("a.service-zones", "one"),
                _in_zone("b.service-zones", "two"),
                Create(
                    workload(
                        "DaemonSet",
                        pod={"nodeSelector": {"story": "service-zones"}, "hostname": "host"},
                    )
                ),
                _service(trafficDistribution="PreferClose"),
            ],
            [Patch("Service", "web", {"spec": {"trafficDistribution": "PreferSameNode"}})],
            [Patch("Service", "web", {"spec": {"trafficDistribution": "PreferSameZone"}})],
            [_in_zone("b.service-zones", "one")],
            [Patch("Service", "web", {"spec": {"trafficDistribution": None}})],
        ],
        nodes="abc",
    ),
    Story(
        "service-headless-names",
        [
            [
                _service(clusterIP="None", publishNotReadyAddresses=True),
                Create(
                    workload("StatefulSet", replicas=2, serviceName="web", pod={"subdomain": "x"})
                ),
                Create(pod("named", APP, hostname="h", subdomain="web")),
            ],
            [Play(always("Running")), EachPod(APP, None, 1)],
            [Patch("Service", "web", {"spec": {"publishNotReadyAddresses": None}})],
        ],
    ),
    Story(
        "claim-retained",
        [
            [
                _volume("v", "claim-retained", persistentVolumeReclaimPolicy="Retain"),
                _claim("c", storageClassName="claim-retained"),
                Wait(16),
            ],
            [Delete("PersistentVolumeClaim", "c")],
            [_claim("c", storageClassName="claim-retained"), Wait(16)],
            [
                Patch(
                    "PersistentVolume",
                    "v.claim-retained",
                    {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}},
                ),
                Wait(16),
            ],
        ],
    ),
    Story(
        "claim-released",
        [
            [
                _volume("v", "claim-released"),
                _claim("c", storageClassName="claim-released"),
                Wait(16),
            ],
            [Delete("PersistentVolumeClaim", "c")],
            [Patch("PersistentVolume", "v.claim-released", {"spec": {"claimRef": None}})],
            [_claim("d", storageClassName="claim-released"), Wait(16)],
        ],
    ),
    Story(
        "claim-best-fit",
        [
            [
                _volume("large", "claim-best-fit", "5Gi"),
                _volume("small", "claim-best-fit", "2Gi"),
                _volume("tiny", "claim-best-fit", "500Mi"),
                _volume("shared", "claim-best-fit", "1Gi", accessModes=["ReadOnlyMany"]),
            ],
            [
                _claim("c", storageClassName="claim-best-fit"),
                _claim(
                    "s",
                    storageClassName="claim-best-fit",
                    selector={"matchLabels": {"size": "5Gi"}},
                ),
                _claim("n", storageClassName="claim-best-fit", volumeName="tiny.claim-best-fit"),
                Wait(16),
            ],
            [Delete("PersistentVolume", "small.claim-best-fit"), Wait(4)],
        ],
    ),
    Story(
        "claim-lost",
        [
            [
                _volume("v", "claim-lost"),
                _claim("c", storageClassName="claim-lost"),
                Wait(16),
            ],
            [
                Delete("PersistentVolume", "v.claim-lost"),
                Patch("PersistentVolume", "v.claim-lost", {"metadata": {"finalizers": None}}),
            ],
            [_mounts("p", "c"), Wait(4)],
        ],
    ),
    Story(
        "claim-local",
        [
            [
                _class("claim-local", "WaitForFirstConsumer"),
                _volume("a", "claim-local", **_local("a.claim-local")),
                _volume("b", "claim-local", "1Gi", **_local("b.claim-local")),
                _claim("c", storageClassName="claim-local"),
            ],
            [_mounts("p", "c", nodeSelector={"kubernetes.io/hostname": "a.claim-local"}), Wait(4)],
            [Delete("Pod", "p"), Delete("PersistentVolumeClaim", "c"), Wait(4)],
        ],
        nodes="ab",
    ),
    Story(
        "claim-ephemeral",
        [
            [
                Create(pod("p", volumes=[_EPHEMERAL])),
                _claim("q-scratch", storageClassName="none"),
                # otherwise it is tried before, or after
                Create(pod("q", volumes=[_EPHEMERAL], schedulerName="none")),
                Wait(4),
            ],
            [Delete("Pod", "p"), Delete("Pod", "q")],
        ],
    ),
    Story(
        "claims-of-devices",
        [
            [
                *_devices("claims-of-devices", 3),
                _claims_template("claims-of-devices"),
                Create(pod("own", **_uses(resourceClaimTemplateName="t"))),
                Create(pod("none", **_uses(resourceClaimTemplateName="absent"))),
            ],
            # after the other one, so that it gets the next device
            [Create(job(pod=_uses(resourceClaimTemplateName="t"))), Wait(6)],
            [Play(always("Succeeded"))],
            [Delete("Pod", "own"), Delete("Job", "job")],
        ],
        always("Ready"),
    ),
    Story(
        "role-aggregation",
        [
            [
                _role(
                    "all",
                    labels={},
                    aggregationRule={"clusterRoleSelectors": [{"matchLabels": _AGGREGATE}]},
                ),
                _role("b", "pods", labels=_AGGREGATE),
                _role("a", "nodes", "pods", labels=_AGGREGATE),
                _role("other", "secrets", labels={}),
            ],
            [Patch("ClusterRole", "other.role-aggregation", {"metadata": {"labels": _AGGREGATE}})],
            [Delete("ClusterRole", "b.role-aggregation")],
            [Patch("ClusterRole", "all.role-aggregation", {"aggregationRule": None})],
        ],
    ),
    Story(
        "node-two-taints",
        [
            [
                Create(
                    pod(
                        name,
                        APP,
                        nodeName="a.node-two-taints",
                        nodeSelector={},
                        tolerations=[
                            {"key": key, "operator": "Exists", "tolerationSeconds": seconds}
                            | {"effect": "NoExecute"}
                            for key, seconds in limits.items()
                        ],
                    )
                )
                for name, limits in (
                    ("first", {"k": 4, "l": 600}),
                    ("second", {"k": 600, "l": 16}),
                    ("only-one", {"k": 600}),
                    ("never", {"k": 0}),
                    ("negative", {"k": -5}),
                )
            ],
            [
                Patch(
                    "Node",
                    "a.node-two-taints",
                    {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}},
                )
            ],
            [
                Patch(
                    "Node",
                    "a.node-two-taints",
                    {
                        "spec": {
                            "taints": [
                                {"key": "k", "effect": "NoExecute"},
                                {"key": "l", "value": "v", "effect": "NoExecute"},
                                {"key": "m", "effect": "PreferNoSchedule"},
                            ]
                        }
                    },
                ),
                Wait(8),
            ],
            [Patch("Node", "a.node-two-taints", {"spec": {"taints": None}}), Wait(12)],
        ],
        nodes="a",
    ),
    Story(
        "deployment-chain",
        [
            [
                Create(workload("Deployment", replicas=2)),
                _service(),
                Create(
                    {
                        "kind": "PodDisruptionBudget",
                        "metadata": {"name": "budget"},
                        "spec": {"selector": {"matchLabels": APP}, "maxUnavailable": 1},
                    }
                ),
            ],
            [Patch("Deployment", "web", scale(4))],
            [Patch("Deployment", "web", image("i:2"))],
            [Delete("Deployment", "web", {"propagationPolicy": "Orphan"})],
        ],
    ),
)
