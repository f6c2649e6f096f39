"""The pods of a workload, with the times at which they arrive."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

from apps.cluster import limits
from apps.cluster.merge_patch import merge
from apps.controllers.kubelet.annotations import SUCCEEDS_AFTER
from apps.studies.scenarios.language.types import PodShape, Workload

Body = dict[str, Any]

#: On pods, and on templates of pods: the workload of the scenario that they belong to.
WORKLOAD: Final = "scenarios.schedweb.dev/workload"
_IMAGE: Final = "registry.k8s.io/pause:3.10"


def arrival_times(workload: Workload, start: float, end: float | None, seed: int) -> list[float]:
    """When pods are created, in seconds since the start of the scenario, in order."""
    if workload.count is not None:
        return [start] * workload.count
    arrivals = workload.arrivals
    if arrivals is None:
        return []
    source = random.Random(f"arrivals {seed} {workload.name}")
    ends = [each for each in (arrivals.until, end) if each is not None]
    until = min(ends, default=None)
    times: list[float] = []
    at = start + arrivals.every.draw(source)
    while until is None or at <= until:
        if arrivals.count is not None and len(times) >= arrivals.count:
            break
        times += [at] * arrivals.batch
        at += arrivals.every.draw(source)
        if not limits.SCENARIO_PODS.admits(len(times)):
            break
    return times if arrivals.count is None else times[: arrivals.count]


def build_pods(workload: Workload, count: int, seed: int) -> Iterator[Body]:
    """The pods of a workload in their order, named `{workload}-0` and so on."""
    source = random.Random(f"pods {seed} {workload.name}")
    weights = [variant.weight for variant in workload.variants]
    for index in range(count):
        drawn: PodShape | None = None
        if workload.variants:
            drawn = source.choices(workload.variants, weights)[0]
        body = _build(workload, workload.name, drawn)
        body["metadata"]["name"] = f"{workload.name}-{index}"
        if workload.lifetime is not None:
            seconds = f"{workload.lifetime.draw(source):.3f}"
            body["metadata"]["annotations"][SUCCEEDS_AFTER] = seconds
        yield body


def _build(workload: PodShape, name: str, drawn: PodShape | None) -> Body:
    """One pod: the workload's shape, with what the variant has instead or besides."""
    requests, labels, pod = workload.requests, workload.labels, workload.pod
    namespace, priority_class = workload.namespace, workload.priority_class
    if drawn is not None:
        requests, labels = {**requests, **drawn.requests}, {**labels, **drawn.labels}
        pod = merge(pod, drawn.pod)
        priority_class = drawn.priority_class or priority_class
    body: Body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "labels": {"app": name, **labels}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": _IMAGE,
                    "resources": {"requests": {key: str(each) for key, each in requests.items()}},
                }
            ],
            **({"priorityClassName": priority_class} if priority_class else {}),
        },
    }
    return mark(merge(body, pod), name)


def mark(body: Body, workload: str) -> Body:
    """The object with the annotation that says to which workload its pods belong."""
    if body.get("kind") == "Pod":
        return _annotate(body, workload)
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return body
    if isinstance(spec.get("template"), dict):
        return {**body, "spec": {**spec, "template": _annotate(spec["template"], workload)}}
    if isinstance(spec.get("jobTemplate"), dict):
        return {**body, "spec": {**spec, "jobTemplate": mark(spec["jobTemplate"], workload)}}
    return body


def _annotate(body: Body, workload: str) -> Body:
    metadata = body.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), WORKLOAD: workload}
    return {**body, "metadata": {**metadata, "annotations": annotations}}
