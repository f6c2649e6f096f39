"""One object on its way into the database: admitted, validated and encoded once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from apps.cluster import kinds
from apps.cluster.admission import admit
from apps.cluster.admission.plugins.registry import Chain
from apps.cluster.errors import Invalid
from apps.cluster.kinds import Kind
from apps.cluster.pods.footprint import node_ready
from apps.cluster.validation import validate
from apps.cluster.writes import Actor
from apps.cluster.writing.lookups import LOOKED_UP
from apps.cluster.writing.memory import AdmissionState
from apps.cluster.writing.metadata import stamp_new
from apps.cluster.writing.preconditions import check_namespace

Body = dict[str, Any]

#: Kinds whose creation changes what the creation of other objects depends on.
_NOT_ONLY_ROWS: Final = frozenset({"ResourceQuota"}) | LOOKED_UP


@dataclass(frozen=True, slots=True)
class Creation:
    """One object, admitted and validated, in the pieces that the statement takes."""

    kind: Kind
    actor: Actor
    #: The object as it will be stored, without its resourceVersion.
    body: Body
    #: The object's JSON text before and after the digits of its resourceVersion.
    head: bytes
    tail: bytes
    #: When it was stamped, by the cluster's clock.
    at: datetime

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        metadata = self.body["metadata"]
        return metadata.get("namespace", ""), metadata["name"]

    @property
    def uid(self) -> UUID:
        return UUID(self.body["metadata"]["uid"])

    @property
    def labels(self) -> bytes:
        """The object's labels as JSON text."""
        labels = self.body["metadata"].get("labels")
        return msgspec.json.encode(labels) if labels else b"{}"

    def text(self, version: int) -> bytes:
        """The object as it is stored at this version, as JSON."""
        return b"%b%d%b" % (self.head, version, self.tail)


def is_row_only(kind: Kind) -> bool:
    """Whether objects of this kind can be created by the statement of this module."""
    return kind.name not in _NOT_ONLY_ROWS


def prepare(
    kind: Kind, body: Body, namespace: str, *, state: AdmissionState, actor: Actor
) -> Creation:
    """Stamp, admit and validate a new object; raises the ApiError that refuses it.

    `body` has the shape of its kind, and is used up: it is changed in place.
    """
    now = state.now()
    plugins = Chain(state.admission_plugins, actor.user)
    stamped = stamp_new(kind, body, namespace, now)
    check_namespace(kind, stamped, state)
    # a node created as ready need not wait for the node controllers
    untested = kind is kinds.NODE and not node_ready(stamped)
    admitted = admit(
        kind.name,
        stamped,
        state,
        taint_new_nodes=untested and state.controllers,
        plugins=plugins,
        decoded=True,
    )
    causes = validate(kind.name, admitted, None)
    if causes:
        raise Invalid(kind.name, admitted["metadata"].get("name", ""), causes, kind.group)
    plugins.validate(kind.name, admitted, state)
    head, tail = _encode(admitted)
    return Creation(kind, actor, admitted, head, tail, now)


def _encode(body: Body) -> tuple[bytes, bytes]:
    """The JSON text of an object, parted where its resourceVersion belongs."""
    first = {"kind": body["kind"], "apiVersion": body["apiVersion"]}
    head = b'%b,"metadata":{"resourceVersion":"' % msgspec.json.encode(first)[:-1]
    metadata = msgspec.json.encode(body["metadata"])
    rest = {name: value for name, value in body.items() if name not in (*first, "metadata")}
    if not rest:
        return head, b'",%b}' % metadata[1:]
    return head, b'",%b,%b' % (metadata[1:], msgspec.json.encode(rest)[1:])
