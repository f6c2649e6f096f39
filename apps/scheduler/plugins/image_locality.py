"""ImageLocality: nodes that already have the pod's images score higher."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import (
    ImageColumn,
    Int64Array,
    NodeColumns,
    Reads,
    constant,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.plugins.helper.arithmetic import rounded_down

NAME: Final = "ImageLocality"

_MEGABYTE: Final = 1024 * 1024
#: bytes; fewer count as 0
MIN_THRESHOLD: Final = 23 * _MEGABYTE
#: bytes per container; more do not increase the score
MAX_CONTAINER_THRESHOLD: Final = 1000 * _MEGABYTE


class ImageLocality:
    name = NAME
    sign_reads: Reads = "nodes"
    default_weight = 1

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sign(self, pod: PodInfo) -> Hashable | None:
        spec = pod.pod.spec
        return tuple(image_names(pod.pod)), len(spec.init_containers) + len(spec.containers)

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return tuple(sorted(image_names(pod.pod)))

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """Bytes present, each image scaled by the share of nodes that have it, as 0..100."""
        bytes_there: Int64Array | None = None
        for name in image_names(pod.pod):
            image = nodes.image(name)
            if image is None:
                continue
            scaled = int(float(image.size) * (image.nodes / nodes.total_nodes))
            present = image.present[rows] * np.int64(scaled)
            bytes_there = present if bytes_there is None else bytes_there + present
        if bytes_there is None:
            return constant(len(rows), 0)
        containers = len(pod.pod.spec.init_containers) + len(pod.pod.spec.containers)
        return _priority(bytes_there, MAX_CONTAINER_THRESHOLD * containers)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """Each image, whether the node has it, and how many of its bytes count."""
        bytes_there = 0
        for name in image_names(pod.pod):
            detail = _describe_image(name, nodes.image(name), nodes.total_nodes)
            bytes_there += detail.figures["counts"]
            yield detail
        containers = len(pod.pod.spec.init_containers) + len(pod.pod.spec.containers)
        most = MAX_CONTAINER_THRESHOLD * containers
        yield Detail(
            f"the pod has {containers} container{'' if containers == 1 else 's'}: "
            f"{containers} × {MAX_CONTAINER_THRESHOLD:,} = {most:,} bytes are worth 100",
            {"containers": containers, "most": most},
        )
        yield _describe_priority(bytes_there, most)


def _describe_image(name: str, image: ImageColumn | None, total_nodes: int) -> Detail:
    size, nodes = (image.size, image.nodes) if image is not None else (0, 0)
    figures = {"image": name, "size": size, "nodes": nodes, "allNodes": total_nodes}
    if image is None or not image.present[0]:
        return Detail(
            f"the image {name} is not on the node",
            {**figures, "present": False, "counts": 0},
        )
    counted = int(float(size) * (nodes / total_nodes))
    return Detail(
        f"the image {name} has {size:,} bytes and is on {nodes:,} of {total_nodes:,} nodes: "
        f"{size:,} × {nodes:,} / {total_nodes:,} = {counted:,} bytes count",
        {**figures, "present": True, "counts": counted},
    )


def _describe_priority(bytes_there: int, most: int) -> Detail:
    score = int(_priority(np.array([bytes_there]), most)[0])
    figures = {"bytes": bytes_there, "least": MIN_THRESHOLD, "most": most, "score": score}
    if bytes_there <= MIN_THRESHOLD:
        words = f"{bytes_there:,} bytes: up to {MIN_THRESHOLD:,} the score is 0"
    elif bytes_there >= most:
        words = f"{bytes_there:,} bytes: from {most:,} on the score is 100"
    else:
        above, span = bytes_there - MIN_THRESHOLD, most - MIN_THRESHOLD
        words = (
            f"100 × ({bytes_there:,} − {MIN_THRESHOLD:,}) / ({most:,} − {MIN_THRESHOLD:,}) = "
            f"{rounded_down(100 * above, span)}"
        )
    return Detail(words, figures)


def _priority(bytes_there: Int64Array, max_threshold: int) -> Int64Array:
    clipped = np.clip(bytes_there, MIN_THRESHOLD, max_threshold)
    return MAX_NODE_SCORE * (clipped - MIN_THRESHOLD) // (max_threshold - MIN_THRESHOLD)


def image_names(pod: Pod) -> Iterable[str]:
    """Normalized names of all images the pod needs, including those of image volumes."""
    spec = pod.spec
    for container in (*spec.init_containers, *spec.containers):
        yield normalize_image_name(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield normalize_image_name(volume.image.reference)


def normalize_image_name(image: str) -> str:
    """The name with a tag, ``:latest`` if it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
