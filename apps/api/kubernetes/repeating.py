"""Creations that are safe to repeat: a client sends an Idempotency-Key with its POST.

A client whose connection, or the server's to the database, was lost does not know whether its
object was created. It sends the same request with the same key again: the object gets a uid, and
a generated name, that follow from user, address, key and body, so that the second request finds
what the first one created, in the change log also after the object was deleted. Another body is
another request.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final
from uuid import UUID, uuid5

from apps.api.kubernetes.calls import Call
from apps.cluster.admission.names import generate_name
from apps.cluster.errors import BadRequest
from apps.cluster.models import Change

Body = dict[str, Any]

HEADER: Final = "Idempotency-Key"
MAX_LENGTH: Final = 255


def uid_of_creation(call: Call) -> str:
    """The uid of the object that this request creates; "" for a random one.

    Raises BadRequest for a key that is too long or not printable.
    """
    key = call.idempotency_key
    if not key:
        return ""
    if len(key) > MAX_LENGTH or not key.isprintable():
        raise BadRequest(
            f"the header {HEADER} must have 1 to {MAX_LENGTH} characters, all of them printable"
        )
    parts = (
        call.actor.user,
        call.resource.kind.key,
        call.namespace,
        key,
        hashlib.sha256(call.raw).hexdigest(),
    )
    return str(uuid5(call.cluster.uid, "\n".join(parts)))


def with_generated_name(body: Body, uid: str, draw: int) -> Body:
    """The object with the name that its uid determines for a draw, if it is to be generated."""
    metadata = dict(body.get("metadata") or {})
    generate_name(metadata, UUID(uid).bytes[draw:])
    return {**body, "metadata": metadata}


def find_created(call: Call, uid: str) -> Body | None:
    """The object as it was when an earlier request created it, read from the change log."""
    changes = Change.objects.filter(cluster_id=call.cluster.pk, uid=uid, type="ADDED")
    created: Body | None = changes.values_list("object", flat=True).first()
    return created
