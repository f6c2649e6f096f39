"""Protects pod groups: a deleted PodGroup stays until no pod of it is active."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Final

from apps.cluster.admission.pod_groups import PROTECTION
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Step
from apps.controllers.volumes.claim_binding import remove_finalizer
from apps.controllers.writes import update_object
from apps.scheduler.objects import Pod, PodGroup

KIND: Final = "PodGroup"
_ENDED: Final = ("Succeeded", "Failed")


def refs_for_group(_: ControllerCache, old: PodGroup | None, new: PodGroup | None) -> Iterable[Ref]:
    return () if new is None else [ref_of(KIND, new)]


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """The group of a pod that is no longer active."""
    if old is None or not old.group_name or (new is not None and _is_active(new)):
        return ()
    return [(KIND, old.metadata.namespace, old.group_name)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    group = cache.get(ref, PodGroup)
    if group is None or group.metadata.deletion_timestamp is None:
        return
    if PROTECTION not in group.metadata.finalizers:
        return
    pods = cache.list_all("Pod", Pod, ref[1])
    if not any(pod.group_name == ref[2] and _is_active(pod) for pod in pods):
        yield update_object(ref, group.metadata.uid, partial(remove_finalizer, PROTECTION))


def _is_active(pod: Pod) -> bool:
    return pod.status.phase not in _ENDED


CONTROLLER = Controller(
    name="podgroups",
    user="podgroup-protection-controller",
    concerns={KIND: refs_for_group, "Pod": refs_for_pod},
    reconcile=reconcile,
)
