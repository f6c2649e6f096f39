"""A parsed request to the Kubernetes API, and its answer before rendering."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.http import QueryDict

from apps.api.kubernetes import bodies, params
from apps.api.kubernetes.finding import Resolved
from apps.api.kubernetes.listing import ListPage
from apps.api.kubernetes.media import Media
from apps.api.kubernetes.paths import Target
from apps.api.kubernetes.resources import Resource
from apps.cluster import queries
from apps.cluster.access.identity import Identity
from apps.cluster.custom.conversion import from_stored
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.cluster.schema import definition_of
from apps.cluster.writes import Actor
from apps.cluster.writing.webhook_calls import webhooks_of

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A request: its cluster, target, parameters and user."""

    #: the cluster, and the object as it was when the request arrived
    resolved: Resolved
    target: Target
    method: str
    query: QueryDict
    raw: bytes
    content_type: str
    media: Media
    actor: Actor
    identity: Identity
    accepts_gzip: bool = False
    #: The Idempotency-Key header.
    idempotency_key: str = ""

    @property
    def cluster(self) -> Cluster:
        return self.resolved.cluster

    @property
    def resource(self) -> Resource:
        return self.target.resource

    @property
    def namespace(self) -> str:
        """The namespace of a single object; "" for cluster-scoped kinds."""
        return self.target.namespace or ""

    def stored(self) -> Body:
        """The object of the path; NotFound when it does not exist."""
        row, kind = self.resolved.row, self.resource.kind
        if row is None:
            body = queries.get(self.cluster, kind, self.namespace, self.target.name)
        elif row.body is None:
            raise NotFound(kind.plural, self.target.name, self.resource.group)
        else:
            body = row.body
        return from_stored(kind, [body], webhooks_of(self.cluster))[0]

    def read_object(self, validation: str) -> tuple[Body, list[str]]:
        """The object in the body, in stored form, and warnings about unknown fields."""
        read = bodies.read_object
        if self.resource.custom is not None:
            read = partial(bodies.read_custom, conversion=self.resource.kind.conversion)
        body, warnings = read(
            self.raw,
            self.content_type,
            kind=self.resource.kind.name,
            api_version=self.resource.api_version,
            definition=self.resource.definition,
            validation=validation,
        )
        return self.resource.from_wire(body), warnings

    def read_request(
        self, group: str, version: str, kind: str, *, older: tuple[str, ...] = ()
    ) -> tuple[Body, list[str]]:
        """The body as an object of a subresource, which is not stored; and warnings.

        `older` are apiVersions that are accepted, too.
        """
        return bodies.read_object(
            self.raw,
            self.content_type,
            kind=kind,
            api_version=f"{group}/{version}" if group else version,
            older=older,
            definition=definition_of(group, version, kind),
            validation=params.write_options(self.query, self.method).validation,
        )


@dataclass(slots=True)
class Answer:
    """The result of a request: an object, a list of objects or a Status, in stored form."""

    body: Body
    status: int = 200
    warnings: list[str] = field(default_factory=list)
    #: The objects of a list, and its ListMeta; None for a single object or a Status.
    items: list[Body] | None = None
    metadata: Body = field(default_factory=dict)
    #: A list whose objects are read while it is sent.
    page: ListPage[Iterator[str]] | None = None
    #: Plain text, sent as it is; None for everything else.
    text: bytes | None = None

    @property
    def is_status(self) -> bool:
        return self.body.get("kind") == "Status"


@contextmanager
def warning(warnings: list[str]) -> Iterator[None]:
    """Also refuse with the warnings about what a client sent."""
    try:
        yield
    except ApiError as refusal:
        refusal.warnings = [*warnings, *refusal.warnings]
        raise


def success(details: Body | None = None, code: int = 0) -> Body:
    """The Status of a successful request."""
    status: Body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        status["details"] = details
    if code:
        status["code"] = code
    return status
