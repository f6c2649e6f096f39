"""The writes that the store accepts, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apps.cluster.access.identity import Identity
from apps.cluster.errors import ApiError
from apps.cluster.kind import Kind
from apps.cluster.ownership.writes import Applying, Owners

Body = dict[str, Any]
#: kind, namespace ("" for cluster-scoped), name
Key = tuple[str, str, str]


#: The manager of fields that users write with pages and the control API.
SITE_MANAGER: Final = "schedweb"


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The options of a request, of which policies and webhooks are told."""

    #: the fields of CreateOptions or UpdateOptions that it sets
    options: Mapping[str, Any] = field(default_factory=dict)
    #: whether it names no object: the deletion of a collection
    collection: bool = False


@dataclass(frozen=True, slots=True)
class Actor:
    """The user who changes something, and the request id; the log records both."""

    user: str
    request_id: str = ""
    #: The name under which managedFields list the client; "" for the control plane, which owns
    #: no fields.
    manager: str = ""
    #: The user as admission policies see it; None where only the name is known.
    identity: Identity | None = field(default=None, compare=False, repr=False)
    asked: RequestOptions = field(default=RequestOptions(), compare=False, repr=False)

    @property
    def is_api_client(self) -> bool:
        """Whether a client of the Kubernetes API writes, and not a page or the control API."""
        return self.manager not in ("", SITE_MANAGER)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What admission has made of the change of an object, as it was when webhooks were asked."""

    #: the resourceVersion of that object
    version: str
    #: the object to store; None of a deletion
    body: Body | None = None
    refusal: ApiError | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object from what a client sent; `applying` if by server-side apply.

    `uid` is the object's, instead of a random one. `admitted`: `body` is the object to store. An
    object that is `restored` existed before, here or in another cluster: what it says of its past
    (status, creation, generation, deletion) stays.
    """

    kind: Kind
    body: Mapping[str, Any]
    namespace: str = ""
    applying: Applying | None = None
    uid: str = ""
    admitted: bool = False
    restored: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """Change an object under its row lock.

    `change` gets the stored object, which it must not alter, and returns the new one; it raises
    an ApiError to reject the write. `trusted` changes are made by the control plane itself: they
    are not admitted and validated again. `uid`, if given, must be the object's. `owners` is the
    server-side apply or the scaling that `change` executes. `reviewed`: policies and webhooks were
    asked before, or are by `change`.
    """

    kind: Kind
    namespace: str
    name: str
    change: Callable[[Body], Mapping[str, Any]]
    subresource: str = ""
    trusted: bool = False
    uid: str = ""
    owners: Owners | None = None
    reviewed: bool = False
    admitted: Admitted | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object; `options` are DeleteOptions.

    `reviewed` as for updates; policies are asked about the deletions of clients alone.
    """

    kind: Kind
    namespace: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    reviewed: bool = False
    admitted: Admitted | None = None


Write = Create | Update | Delete


def key_of(write: Write) -> Key:
    """The key of the object; for a creation, after admission."""
    if isinstance(write, Create):
        metadata = write.body["metadata"]
        return write.kind.key, metadata.get("namespace", ""), metadata["name"]
    return write.kind.key, write.namespace, write.name
