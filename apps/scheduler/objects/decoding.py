"""From a JSON body (a dict) to the typed object of its kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from apps.scheduler.objects.cluster import Event, Lease, Namespace, Node, RuntimeClass
from apps.scheduler.objects.devices import (
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from apps.scheduler.objects.meta import KubeObject
from apps.scheduler.objects.pod import Pod
from apps.scheduler.objects.pod_groups import PodGroup
from apps.scheduler.objects.policy import PodDisruptionBudget, PriorityClass
from apps.scheduler.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from apps.scheduler.objects.workloads import (
    ClusterRole,
    ConfigMap,
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    HorizontalPodAutoscaler,
    Job,
    ReplicaSet,
    ReplicationController,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
    ValidatingAdmissionPolicy,
)

T = TypeVar("T", bound=KubeObject)

_TYPES: Final[tuple[type[KubeObject], ...]] = (
    Pod,
    Node,
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    Deployment,
    DaemonSet,
    Job,
    CronJob,
    HorizontalPodAutoscaler,
    ControllerRevision,
    ServiceAccount,
    ClusterRole,
    ValidatingAdmissionPolicy,
    ConfigMap,
    Secret,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    PriorityClass,
    PodDisruptionBudget,
    RuntimeClass,
    Lease,
    Event,
    PodGroup,
    DeviceClass,
    ResourceSlice,
    ResourceClaim,
    ResourceClaimTemplate,
)
#: kind → its type
KINDS: Final[dict[str, type[KubeObject]]] = {cls.__name__: cls for cls in _TYPES}

_DECODERS: Final = {kind: msgspec.json.Decoder(cls) for kind, cls in KINDS.items()}

#: msgspec ends its messages with " - at `$.spec.containers[0].name`"
_PLACE: Final = re.compile(r" - at `(key in )?\$\.?(.*)`$")


class DecodeError(ValueError):
    """A body has the wrong shape. `field` is the path ("spec.containers[0].name", "" = all)."""

    def __init__(self, *, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


def decode(kind: str, body: Mapping[str, Any]) -> Any:
    """The typed object of `body`; raises DecodeError, and KeyError for a kind not in KINDS.

    null counts as absent everywhere, as in Kubernetes.
    """
    return decode_as(KINDS[kind], body)


def decode_json(kind: str, text: str) -> Any:
    """`decode` of a body as JSON text, without intermediate data; raises DecodeError too."""
    try:
        return _DECODERS[kind].decode(text)
    except msgspec.ValidationError:
        return decode(kind, msgspec.json.decode(text))


def decode_as(cls: type[T], body: Mapping[str, Any]) -> T:
    """`decode` for a caller who knows the type."""
    try:
        return msgspec.convert(body, cls)
    except msgspec.ValidationError:
        # Nulls in place of values are rare: a second pass is cheaper than walking every body.
        return _decode_without_nulls(cls, body)


def as_json(value: object) -> Any:
    """A value with objects of this package in it, as decoded JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


def without_nulls(value: Any) -> Any:
    """A copy of a JSON value in which no object has a null member."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _decode_without_nulls(cls: type[T], body: Mapping[str, Any]) -> T:
    try:
        return msgspec.convert(without_nulls(body), cls)
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        message = _PLACE.sub("", text)
        raise DecodeError(field=place.group(2) if place else "", message=message) from None
