"""Garbage, namespaces, claims and volumes, what every namespace has."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.plots.manifests import APP, pod, workload
from tools.truth.stories.story import Create, Delete, Patch, Story, Wait

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
    given = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "storageClassName": "",
        **spec,
    }
    # only claims of the story may have it
    given["claimRef"] = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": story,
        "name": name,
    }
    return Create(
        {"kind": "PersistentVolume", "metadata": {"name": f"{name}.{story}"}, "spec": given}
    )


def _class(story: str, mode: str) -> Create:
    body = {
        "kind": "StorageClass",
        "metadata": {"name": f"class.{story}"},
        "provisioner": "example.com/p",
    }
    return Create({**body, "volumeBindingMode": mode})


def _mounts(name: str, claim: str) -> Create:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    return Create(pod(name, volumes=[volume]))


def _owned(story: str, policy: str) -> Story:
    options = {"propagationPolicy": policy}
    return Story(
        story,
        [[Create(workload("Deployment", replicas=2))], [Delete("Deployment", "web", options)]],
    )


_CONFIG = {"kind": "ConfigMap", "metadata": {"name": "own"}, "data": {"a": "b"}}

STORIES = (
    _owned("garbage-background", "Background"),
    _owned("garbage-foreground", "Foreground"),
    _owned("garbage-orphan", "Orphan"),
    Story(
        "garbage-replica-sets",
        [
            [Create(workload("Deployment", replicas=2))],
            [Delete("Deployment", "web", {"propagationPolicy": "Foreground"})],
            [Create(workload("Deployment", replicas=1))],
        ],
    ),
    Story(
        "namespace-deleted",
        [
            [
                Create(workload("Deployment", replicas=2)),
                Create(_CONFIG),
                Create(
                    {
                        "kind": "Service",
                        "metadata": {"name": "web"},
                        "spec": {"selector": APP, "ports": [{"port": 80}]},
                    }
                ),
            ],
            [Delete("Namespace", ""), Wait(14)],
        ],
    ),
    Story(
        "namespace-finalizer",
        [
            [Create({**_CONFIG, "metadata": {"name": "own", "finalizers": ["example.com/f"]}})],
            [Delete("Namespace", ""), Wait(14)],
            [Patch("ConfigMap", "own", {"metadata": {"finalizers": None}}), Wait(20)],
        ],
    ),
    Story(
        "namespace-furniture",
        [
            [],
            [Delete("ServiceAccount", "default"), Delete("ConfigMap", "kube-root-ca.crt")],
            [Patch("ConfigMap", "kube-root-ca.crt", {"data": {"x": "y"}})],
        ],
    ),
    Story(
        "claim-bound",
        [
            [_volume("c", "claim-bound"), _claim("c")],
            [_mounts("p", "c")],
            [Delete("PersistentVolumeClaim", "c")],
            [Delete("Pod", "p")],
        ],
    ),
    Story("claim-later", [[_claim("c")], [_volume("c", "claim-later"), Wait(18)]]),
    Story(
        "claim-recycled",
        [
            [_volume("c", "claim-recycled", persistentVolumeReclaimPolicy="Delete"), _claim("c")],
            [Delete("PersistentVolumeClaim", "c"), Wait(6)],
        ],
    ),
    Story("claim-too-big", [[_volume("c", "claim-too-big", "500Mi"), _claim("c"), Wait(18)]]),
    Story(
        "claim-named",
        [
            [_volume("c", "claim-named"), _claim("c", volumeName="c.claim-named")],
            [Delete("PersistentVolume", "c.claim-named")],
            [Delete("PersistentVolumeClaim", "c")],
        ],
    ),
    Story(
        "claim-external",
        [
            [
                _class("claim-external", "Immediate"),
                _claim("c", storageClassName="class.claim-external"),
            ]
        ],
    ),
    Story(
        "claim-waits",
        [
            [
                _class("claim-waits", "WaitForFirstConsumer"),
                _claim("c", storageClassName="class.claim-waits"),
                Wait(18),
            ]
        ],
    ),
    Story("claim-no-class", [[_claim("c", storageClassName="none"), Wait(18)]]),
)
