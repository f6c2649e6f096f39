"""What plugins share of a pod's signature: see framework.interface.SignPlugin."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects.volumes import Volume

_UNREAD: Final = Volume()


def requests_sign(pod: PodInfo) -> Hashable:
    return frozenset(pod.spec_requests.items())


def tolerations_sign(pod: PodInfo) -> Hashable:
    return tuple(sorted(pod.pod.spec.tolerations, key=lambda each: (each.key, each.value)))


def volumes_sign(pod: PodInfo) -> Hashable:
    """The volumes by their sources, without those that no plugin looks at."""
    sources = (msgspec.structs.replace(each, name="") for each in pod.pod.spec.volumes)
    return tuple(sorted(msgspec.json.encode(each) for each in sources if each != _UNREAD))
