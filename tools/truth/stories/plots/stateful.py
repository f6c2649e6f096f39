"""StatefulSets and their claims."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import by_image
from tools.truth.stories.plots.manifests import APP, FAILED, image, scale, workload
from tools.truth.stories.story import Create, Delete, EachPod, Patch, Play, Story, Wait

Body = dict[str, Any]


def _set(replicas: int = 3, **spec: Any) -> Create:
    return Create(workload("StatefulSet", replicas=replicas, serviceName="web", **spec))


def _to(name: str) -> Patch:
    return Patch("StatefulSet", "web", image(name))


def _scale(replicas: int) -> Patch:
    return Patch("StatefulSet", "web", scale(replicas))


_CLAIM = {
    "metadata": {"name": "data", "labels": {"l": "m"}, "annotations": {"n": "o"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
_PARALLEL = {"podManagementPolicy": "Parallel"}


def _volume(number: int, story: str) -> Create:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "claimRef": {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": story,
            "name": f"data-web-{number}",
        },
    }
    return Create(
        {"kind": "PersistentVolume", "metadata": {"name": f"v{number}.{story}"}, "spec": spec}
    )


def _retained(story: str, deleted: str, scaled: str) -> Story:
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    spec = {"persistentVolumeClaimRetentionPolicy": policy, "volumeClaimTemplates": [_CLAIM]}
    volumes = [_volume(number, story) for number in range(2)]
    return Story(story, [[*volumes, _set(2, **spec)], [_scale(1)], [Delete("StatefulSet", "web")]])


STORIES = (
    Story(
        "stateful-ordered", [[_set(3)], [_scale(4)], [_scale(1)], [Delete("StatefulSet", "web")]]
    ),
    Story("stateful-parallel", [[_set(3, **_PARALLEL)], [_scale(5)], [_scale(2)]]),
    Story("stateful-roll", [[_set(3)], [_to("i:2")], [_to("i:1")]]),
    Story("stateful-roll-parallel", [[_set(3, **_PARALLEL)], [_to("i:2")]]),
    Story(
        "stateful-partition",
        [
            [_set(3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})],
            [_to("i:2")],
            [
                Patch(
                    "StatefulSet",
                    "web",
                    {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}},
                )
            ],
        ],
    ),
    Story(
        "stateful-on-delete",
        [
            [_set(2, updateStrategy={"type": "OnDelete"})],
            [_to("i:2")],
            [EachPod(APP, None, 1)],
            [EachPod(APP)],
        ],
    ),
    Story("stateful-min-ready", [[_set(2, minReadySeconds=4), Wait(12)], [_to("i:2"), Wait(16)]]),
    Story(
        "stateful-stuck",
        [
            [_set(2)],
            [_to("i:bad")],
            [_to("i:2")],
            [EachPod({"statefulset.kubernetes.io/pod-name": "web-1"})],
        ],
        by_image({"i:bad": "Running"}),
    ),
    Story(
        "stateful-failed",
        [[_set(2)], [EachPod(APP, FAILED, 1, "status")], [EachPod(APP, None, 1)]],
    ),
    Story(
        "stateful-start",
        [
            [_set(2, ordinals={"start": 5})],
            [Patch("StatefulSet", "web", {"spec": {"ordinals": {"start": 4}}})],
        ],
    ),
    Story(
        "stateful-claims",
        [
            [
                _volume(0, "stateful-claims"),
                _volume(1, "stateful-claims"),
                _set(2, volumeClaimTemplates=[_CLAIM]),
            ],
            [_scale(1)],
            [_scale(2)],
            [Delete("PersistentVolumeClaim", "data-web-1")],
            [_scale(1)],
            [_scale(2)],
        ],
    ),
    _retained("stateful-retain-delete", "Delete", "Retain"),
    _retained("stateful-retain-scale", "Retain", "Delete"),
    _retained("stateful-retain-none", "Delete", "Delete"),
    Story(
        "stateful-orphans",
        [[_set(2)], [Delete("StatefulSet", "web", {"propagationPolicy": "Orphan"})], [_set(2)]],
    ),
    Story(
        "stateful-not-ready",
        [[_set(3)], [Play(by_image({}, "Running"))], [_scale(4)], [Play(by_image({}))]],
    ),
    Story(
        "stateful-max-unavailable",
        [
            [
                _set(
                    4,
                    updateStrategy={
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxUnavailable": 2},
                    },
                )
            ],
            [_to("i:2")],
        ],
    ),
    Story(
        "stateful-history",
        [[_set(1, revisionHistoryLimit=1)], [_to("i:2")], [_to("i:3")], [_to("i:4")]],
    ),
)
