"""Pods that the loop binds, and starts at once, in the pieces that their statement takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster import kinds
from apps.cluster.random_ids import random_uuid_text
from apps.cluster.writes import Create

Body = dict[str, Any]

#: The JSON text of an object after the digits of its resourceVersion, here always its last field.
TAIL: Final = '"}}'

_decode_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be created; `head` is its JSON text up to the digits of its resourceVersion."""

    name: str
    uid: str
    reason: str
    head: str


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod that gets its node; the texts end before the digits of its resourceVersion."""

    namespace: str
    name: str
    #: The resourceVersion on which the change is based.
    version: int
    node: str
    #: All labels of the pod, if the binding adds some.
    labels: Mapping[str, str] | None
    bound: str
    #: The pod after the kubelet's report; None if the kubelet does not start it at once.
    running: str | None
    #: The last phase of the two.
    phase: str
    event: NewEvent

    @property
    def changes(self) -> int:
        """How many versions it takes: bound, running, the event."""
        return 2 if self.running is None else 3


class StoredPod:
    """A pod's JSON text, of which only the changed parts are decoded and encoded."""

    def __init__(self, text: str) -> None:
        self._parts = _decode_parts(text)
        #: without resourceVersion
        self.metadata: Body = msgspec.json.decode(self._parts.pop("metadata"))
        self.metadata.pop("resourceVersion", None)
        #: JSON texts
        self.spec = bytes(self._parts.pop("spec"))
        self.status = bytes(self._parts.pop("status", b"null"))

    def placed(self, node: str, metadata: Body, statuses: Iterable[bytes]) -> list[str]:
        """The text with this node and metadata, once with each of these statuses in JSON.

        It ends before the digits of its resourceVersion. Of a field that occurs twice in an object,
        jsonb keeps the last.
        """
        spec = self.spec[:-1] + b',"nodeName":' + msgspec.json.encode(node) + b"}"
        rest = msgspec.json.encode({**self._parts, "spec": msgspec.Raw(spec)})
        head, tail = rest[:-1] + b',"status":', _open_metadata(metadata)
        return [(head + each + tail).decode() for each in statuses]


def new_event(write: Create, created_at: str) -> NewEvent:
    """An event as the store would create it; `created_at` is its creationTimestamp.

    `write` is complete: no field needs a default.
    """
    assert write.kind is kinds.EVENT
    uid = random_uuid_text()
    body = {**write.body, "apiVersion": write.kind.api_version, "kind": write.kind.name}
    metadata = {**body.pop("metadata"), "uid": uid, "creationTimestamp": created_at}
    head = msgspec.json.encode(body)[:-1] + _open_metadata(metadata)
    return NewEvent(metadata["name"], uid, body["reason"], head.decode())


def _open_metadata(metadata: Body) -> bytes:
    """The JSON of the metadata, cut off where the digits of another resourceVersion follow."""
    return b',"metadata":' + msgspec.json.encode(metadata)[:-1] + b',"resourceVersion":"'
