"""New pods as clients send them: their JSON text in parts.

The spec is not parsed: where its text is that of a spec that was admitted before, nothing else of
it is needed (`admitted_specs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster.schema import ShapeError, decode

Body = dict[str, Any]

_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#: The bytes of a compact text around its metadata and its spec.
_AROUND: Final = len('{"kind":"Pod","apiVersion":"v1","metadata":,"spec":}')
#: The last member, as clients in Go send it.
_STATUS: Final = b',"status":{}}'


class _Members(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    apiVersion: str
    metadata: msgspec.Raw
    spec: msgspec.Raw
    status: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True, slots=True)
class SentPod:
    """A new pod: its metadata, and the text of its spec. Its status is empty."""

    metadata: Body
    spec: bytes


_members: Final = msgspec.json.Decoder(_Members)


def read_pod(raw: bytes) -> SentPod | None:
    """The parts of a pod's JSON text; None where it has to be read as a whole.

    So it is unless the text is compact, each member of the pod and of its metadata occurs once, and
    all of them are known. The spec may be anything.
    """
    try:
        pod = _members.decode(raw)
        text = bytes(pod.metadata)
        metadata = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    if (pod.kind, pod.apiVersion) != ("Pod", "v1") or not _is_whole(pod, raw):
        return None
    # a key that occurs twice is lost; the database cannot store NUL characters
    if msgspec.json.encode(metadata) != text or b"\\u0000" in raw:
        return None
    shaped = _shape(metadata)
    return None if shaped is None else SentPod(shaped, bytes(pod.spec))


def _is_whole(pod: _Members, raw: bytes) -> bool:
    """Whether the text consists of these members alone: no spaces, and none of them twice."""
    size = len(raw) - raw.endswith(b"\n") - len(bytes(pod.metadata)) - len(bytes(pod.spec))
    if not bytes(pod.status):
        return size == _AROUND
    # in the response it follows the spec, too
    return raw.rstrip(b"\n").endswith(_STATUS) and size == _AROUND + len(_STATUS) - 1


def _shape(metadata: Any) -> Body | None:
    try:
        decoded = decode(_METADATA, metadata)
    except ShapeError:
        return None
    return None if decoded.unknown else decoded.body
