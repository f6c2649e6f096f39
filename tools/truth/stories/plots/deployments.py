"""Deployments: rollouts, revisions, pauses, deadlines, adoption."""

from __future__ import annotations

from tools.truth.stories.kubelet import by_image
from tools.truth.stories.plots.manifests import APP, image, scale, template, workload
from tools.truth.stories.story import Create, Delete, EachPod, Patch, Play, Story, Wait


def _web(replicas: int = 3, **spec: object) -> Create:
    return Create(workload("Deployment", replicas=replicas, **spec))


def _roll(surge: object, missing: object) -> dict[str, object]:
    return {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": missing}}


def _to(name: str) -> Patch:
    return Patch("Deployment", "web", image(name))


def _patch(**spec: object) -> Patch:
    return Patch("Deployment", "web", {"spec": spec})


_ADOPTED = {
    "kind": "ReplicaSet",
    "metadata": {"name": "old", "labels": APP},
    "spec": {"replicas": 2, "selector": {"matchLabels": APP}, "template": template("i:0")},
}

STORIES = (
    Story(
        "deployment-scale",
        [
            [_web()],
            [Patch("Deployment", "web", scale(5))],
            [Patch("Deployment", "web", scale(2))],
            [Patch("Deployment", "web", scale(0))],
        ],
    ),
    Story("deployment-roll", [[_web()], [_to("i:2")], [_to("i:3")]]),
    Story("deployment-roll-surge", [[_web(4, strategy=_roll(2, 0))], [_to("i:2")]]),
    Story("deployment-roll-missing", [[_web(4, strategy=_roll(0, "50%"))], [_to("i:2")]]),
    Story("deployment-recreate", [[_web(2, strategy={"type": "Recreate"})], [_to("i:2")]]),
    Story(
        "deployment-paused",
        [
            [_web(2, paused=True)],
            [_patch(paused=False)],
            [_patch(paused=True)],
            [_to("i:2")],
            [_patch(replicas=4)],
            [_patch(paused=False)],
        ],
    ),
    Story("deployment-rollback", [[_web(2)], [_to("i:2")], [_to("i:1")], [_to("i:2")]]),
    Story(
        "deployment-history",
        [[_web(1, revisionHistoryLimit=1)], [_to("i:2")], [_to("i:3")], [_to("i:4")]],
    ),
    Story(
        "deployment-deadline",
        [[_web(2, progressDeadlineSeconds=5)], [_to("i:bad"), Wait(9)], [_to("i:2")]],
        by_image({"i:bad": "Running"}),
    ),
    Story(
        "deployment-deadline-new",
        [
            [_web(2, progressDeadlineSeconds=4), Play(by_image({}, "Running")), Wait(8)],
            [Play(by_image({}))],
        ],
    ),
    Story(
        "deployment-proportional",
        [
            [_web(6)],
            [_to("i:bad")],
            [Patch("Deployment", "web", scale(10))],
            [Patch("Deployment", "web", scale(4))],
            [_to("i:1")],
        ],
        by_image({"i:bad": "Running"}),
    ),
    Story("deployment-adopts", [[Create(_ADOPTED)], [_web(3)], [_to("i:0")]]),
    Story(
        "deployment-orphans",
        [[_web(2)], [Delete("Deployment", "web", {"propagationPolicy": "Orphan"})], [_web(2)]],
    ),
    Story(
        "deployment-min-ready",
        [
            [_web(2, minReadySeconds=4), Wait(6)],
            [_to("i:2"), Wait(15)],
            [_patch(minReadySeconds=0)],
        ],
    ),
    Story(
        "deployment-annotations",
        [
            [
                Create(
                    {
                        **workload("Deployment", replicas=1),
                        "metadata": {
                            "name": "web",
                            "annotations": {"team": "a", "kubernetes.io/change-cause": "first"},
                        },
                    }
                )
            ],
            [
                Patch(
                    "Deployment",
                    "web",
                    {
                        "metadata": {
                            "annotations": {"team": "b", "kubernetes.io/change-cause": "second"}
                        }
                    },
                )
            ],
            [_to("i:2")],
            [Patch("Deployment", "web", {"metadata": {"labels": {"x": "y"}}})],
        ],
    ),
    Story(
        "deployment-pod-lost", [[_web(3)], [EachPod(APP, None, 1)], [Delete("Deployment", "web")]]
    ),
    Story(
        "deployment-quota",
        [
            [
                Create(
                    {
                        "kind": "ResourceQuota",
                        "metadata": {"name": "q"},
                        "spec": {"hard": {"pods": "2"}},
                    }
                )
            ],
            [_web(3)],
            # a change lets the real controller try again before its pause is over
            [
                Patch("ResourceQuota", "q", {"spec": {"hard": {"pods": "5"}}}),
                Patch("Deployment", "web", scale(4)),
                Wait(15),
            ],
        ],
    ),
    Story(
        "deployment-bad-template",
        [[Create(workload("Deployment", replicas=1, pod={"priorityClassName": "none"}))]],
    ),
)
