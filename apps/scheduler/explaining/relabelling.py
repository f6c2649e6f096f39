"""A node with another label, for the duration of a check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from apps.scheduler.scheduler import Scheduler


@contextmanager
def relabel(scheduler: Scheduler, name: str, key: str, value: str) -> Iterator[None]:
    """The scheduler's cache has the node with the label; KeyError if there is no such node."""
    node = scheduler.cache.nodes[name].node
    if node is None:
        raise KeyError(name)
    labels = {**node.metadata.labels, key: value}
    meta = msgspec.structs.replace(node.metadata, labels=labels)
    scheduler.cache.add_node(msgspec.structs.replace(node, metadata=meta))
    try:
        yield
    finally:
        scheduler.cache.add_node(node)
