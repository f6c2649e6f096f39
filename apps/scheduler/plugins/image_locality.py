"""ImageLocality: nodes that already have the pod's images score higher."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads, constant
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod

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

    def explain_score(self, pod: PodInfo, nodes: NodeColumns) -> Iterator[Detail]:
        """Each image that is on the node, and what it counts."""
        bytes_there = 0
        for name in image_names(pod.pod):
            image = nodes.image(name)
            if image is None or not image.present[0]:
                yield Detail(f"the image {name} is not on the node", {"image": name, "bytes": 0})
                continue
            counted = int(float(image.size) * (image.nodes / nodes.total_nodes))
            bytes_there += counted
            yield Detail(
                f"the image {name} has {image.size:,} bytes and is on {image.nodes:,} of "
                f"{nodes.total_nodes:,} nodes: {counted:,} bytes count",
                {"image": name, "bytes": counted},
            )
        containers = len(pod.pod.spec.init_containers) + len(pod.pod.spec.containers)
        yield Detail(
            f"from {bytes_there:,} bytes: nothing up to {MIN_THRESHOLD:,}, 100 from "
            f"{MAX_CONTAINER_THRESHOLD * containers:,}",
            {"bytes": bytes_there},
        )


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
