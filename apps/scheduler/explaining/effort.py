"""How reluctantly a person makes a change, as a number without a unit: the least is tried first.

First come small changes to the pod's own request and rules, then actions on a node that are undone
easily, then what costs others something: evictions, and labels that would have to be true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.scheduler.framework.types import PodInfo

UNCORDON: Final = 2.0
TOLERATE: Final = 2.0
SCHEDULE_ANYWAY: Final = 2.5
DROP_NODE_RULE: Final = 2.5
DROP_POD_RULE: Final = 3.0
REPAIR_NODE: Final = 4.0
#: another request for devices: the spec of a claim cannot be changed, so it is created anew
RELAX_CLAIM: Final = 3.0
#: deleting a pod that has a device
RELEASE_DEVICE: Final = 4.0
_LABEL_NODE: Final = 5.0
_EVICT: Final = 3.0

_HOSTNAME: Final = "kubernetes.io/hostname"
#: Labels that the kubelet or the cloud provider sets: another value would be false.
IDENTIFYING_LABELS: Final = frozenset(
    {
        _HOSTNAME,
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
    }
)
#: Prefixes of taints that report a state of the node: the node is repaired, not tolerated.
_REPORTING_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
#: Priorities of system-node-critical and system-cluster-critical, and above.
_SYSTEM_PRIORITY: Final = 2_000_000_000


def lower_request(share: float) -> float:
    """A request reduced by this share (0 to 1); by more than half, the pod is another one."""
    return 1 + 6 * share + (4 if share > 0.5 else 0)


def drop_selector(key: str) -> float:
    """An entry of the node selector; pinning to one host is what is dropped first."""
    return 2.0 if key == _HOSTNAME else DROP_NODE_RULE


def increase_max_skew(increase: int) -> float:
    """A higher maxSkew; by much, it says as little as ScheduleAnyway."""
    return min(2.0 + 0.5 * (increase - 1), 6.0)


def label_nodes(nodes: int) -> float:
    """A label for `nodes` nodes: the more lack it, the less likely they are meant to have it."""
    return _LABEL_NODE + min(nodes / 10, 10.0)


def evict(pods: Sequence[PodInfo], priority: int) -> float:
    """Evicting pods for one of this priority; more important ones and the system's come last."""
    highest = max((pod.priority for pod in pods), default=0)
    more_important = 4.0 if highest > priority else 0.0
    return _EVICT + len(pods) + more_important + (10.0 if highest >= _SYSTEM_PRIORITY else 0.0)


def reports_state(taint_key: str) -> bool:
    """Whether a taint reports that its node is not ready, under pressure or shut down."""
    return taint_key.startswith(_REPORTING_TAINTS)
