"""The events kube-scheduler writes about pods, as objects of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from apps.cluster import kinds
from apps.cluster.metadata import micro_timestamp
from apps.cluster.store import Create

#: Longer notes are cut, with " ..." at the end, as the events API demands.
NOTE_LIMIT = 1024


def pod_event(
    pod: Mapping[str, str],
    *,
    reason: str,
    note: str,
    action: str,
    now: datetime,
    serial: int,
    reporter: str,
    warning: bool = False,
) -> Create:
    """The creation of one event about a pod, given by name, namespace and uid.

    `serial` tells apart the events of one pod at one moment.
    """
    nanoseconds = int(now.timestamp() * 1_000_000) * 1000 + serial % 1000
    involved = {"kind": "Pod", "apiVersion": "v1", **pod}
    body = {
        "metadata": {"name": f"{pod['name']}.{nanoseconds:x}", "namespace": pod["namespace"]},
        "involvedObject": involved,
        "reason": reason,
        "message": note if len(note) <= NOTE_LIMIT else f"{note[: NOTE_LIMIT - 4]} ...",
        "type": "Warning" if warning else "Normal",
        "action": action,
        "eventTime": micro_timestamp(now),
        "reportingComponent": reporter,
        "reportingInstance": reporter,
        "firstTimestamp": None,
        "lastTimestamp": None,
        "source": {},
    }
    return Create(kinds.EVENT, body, pod["namespace"])
