"""The layout of a bundle's file.

A line with the number of the layout, the SHA-256 of the rest, and MessagePack in a zstandard frame.
A field is added with a default; any other change of the layout gets a new number.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final

import msgspec
import zstandard

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.studies.bundles.sizes import check_columns, check_packed
from apps.studies.bundles.tables import Document, Packed, Table

_NAME: Final = b"schedweb bundle "
_HEADER: Final = _NAME + b"1\n"
MEDIA_TYPE: Final = "application/vnd.schedweb.bundle"
_DIGEST_SIZE: Final = 32
#: A file of a bundle is at most this large.
MAX_FILE: Final = limits.BUNDLE_BYTES.highest
_LEVEL: Final = 19


class BundledDecision(msgspec.Struct, kw_only=True):
    """The row of the ledger. What follows from its columns is computed again."""

    id: int
    pod_uid: str
    namespace: str
    name: str
    workload: str
    attempt: int
    at: datetime
    profile_revision: int
    scheduler_name: str
    result: str
    node: str
    message: str
    post_filter_message: str
    unschedulable_plugins: list[str]
    nodes: int
    cluster_version: int
    sequence: int
    duration_us: int
    request_id: str
    #: the names of the nodes by row
    node_names: list[str]
    #: `ledger.codec.StoredDecision` as MessagePack
    columns: bytes


class BundledState(msgspec.Struct, kw_only=True):
    """What the decision saw."""

    #: in the order of their rows
    nodes: Table
    #: the rows of the nodes in visiting order
    order: Packed
    #: the pods with a node, by node; one without a name gets the name of its position
    pods: Table
    #: how many of them each node has
    pods_of_nodes: Packed
    #: image -> bytes, as the first node reported that had it
    images: dict[str, int]
    #: the pod of the decision
    pod: Document
    #: (pod, node) of nominated pods, in the order of nomination
    nominated: list[tuple[Document, str]]
    #: kind -> objects
    objects: dict[str, Table]
    #: (kind, object) of volumes and claims with what was decided for pods that were not bound yet
    assumed: list[tuple[str, Document]]
    #: ResourceClaims with devices that were reserved, but not written yet
    in_flight: list[Document]


class Bundle(msgspec.Struct, kw_only=True):
    """One decision with everything that it depended on."""

    #: its name
    cluster: str
    tie_break: str
    #: the text of the revision, and whether it has the form of an earlier release
    configuration: str
    is_legacy: bool
    #: whether everything that the decision did not read was left out, and the names of other pods
    is_pruned: bool
    has_names: bool
    decision: BundledDecision
    state: BundledState


def encode(bundle: Bundle) -> bytes:
    """The file of a bundle."""
    packed = zstandard.compress(msgspec.msgpack.encode(bundle), _LEVEL)
    return _HEADER + hashlib.sha256(packed).digest() + packed


def decode(data: bytes) -> Bundle:
    """The bundle in a file; BadRequest if it is none, has been changed, or is incomplete."""
    if len(data) > MAX_FILE:
        raise BadRequest(f"bundle: the file is larger than {MAX_FILE:,} bytes")
    if not data.startswith(_NAME):
        raise BadRequest("bundle: the file is not a bundle of a decision")
    if not data.startswith(_HEADER):
        raise BadRequest("bundle: the file was written by a newer release, in another layout")
    digest, packed = _split(data[len(_HEADER) :])
    if hashlib.sha256(packed).digest() != digest:
        raise BadRequest(
            "bundle: the file is incomplete or was changed: its checksum does not match"
        )
    try:
        contents = _decompress(packed)
        check_packed(contents)
        bundle = _decoder.decode(contents)
        check_columns(bundle.decision.columns)
    except (msgspec.MsgspecError, zstandard.ZstdError, RecursionError) as error:
        raise BadRequest(f"bundle: the file cannot be read: {error}") from error
    return bundle


def _split(rest: bytes) -> tuple[bytes, bytes]:
    return rest[:_DIGEST_SIZE], rest[_DIGEST_SIZE:]


def _decompress(packed: bytes) -> bytes:
    """Raises ZstdError for what is no frame, or has no size or too much."""
    size: Any = zstandard.frame_content_size(packed)
    if not limits.BUNDLE_CONTENTS.admits(size):
        most = limits.BUNDLE_CONTENTS.highest
        raise zstandard.ZstdError(f"it holds more than {most:,} bytes")
    return zstandard.ZstdDecompressor().decompress(packed)


_decoder = msgspec.msgpack.Decoder(Bundle)
