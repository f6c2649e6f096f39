"""What can be asked of the store, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.cluster.kinds import Kind

Body = dict[str, Any]
#: kind, namespace ("" for cluster-scoped), name
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, and the request it belongs to; both are kept in the log."""

    user: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object from what a client sent."""

    kind: Kind
    body: Mapping[str, Any]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """Change an object under its row lock.

    `change` gets the stored object, which it must not alter, and returns the new one; raising
    an ApiError refuses. `trusted` changes are the control plane's own: not admitted and
    validated again. `uid`, when given, names the very object that is meant.
    """

    kind: Kind
    namespace: str
    name: str
    change: Callable[[Body], Mapping[str, Any]]
    subresource: str = ""
    trusted: bool = False
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object; `options` are DeleteOptions."""

    kind: Kind
    namespace: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


Write = Create | Update | Delete


def key_of(write: Write) -> Key:
    """The object an write is about; of a creation, once it is admitted."""
    if isinstance(write, Create):
        metadata = write.body["metadata"]
        return write.kind.name, metadata.get("namespace", ""), metadata["name"]
    return write.kind.name, write.namespace, write.name
