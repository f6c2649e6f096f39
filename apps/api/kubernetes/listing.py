"""Lists: as of now, as of a version, and page by page through one snapshot."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from apps.api.kubernetes.params import Selection
from apps.cluster import history, selectors
from apps.cluster.errors import BadRequest, Expired, Timeout
from apps.cluster.kinds import Kind
from apps.cluster.matching import Matcher
from apps.cluster.models import Cluster

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Page:
    """Objects in (namespace, name) order, all as of `version`."""

    items: list[dict[str, Any]]
    version: int
    #: Token for the next page; empty on the last one.
    continue_: str
    #: How many objects follow this page; None where it was not counted (with a selector).
    remaining: int | None

    def metadata(self) -> dict[str, Any]:
        """The ListMeta of this page."""
        meta: dict[str, Any] = {"resourceVersion": str(self.version)}
        if self.continue_:
            meta["continue"] = self.continue_
            if self.remaining:
                meta["remainingItemCount"] = self.remaining
        return meta


class Position(msgspec.Struct, array_like=True, frozen=True):
    """What a continue token says: the page before ended here. Version 0: go on as of now."""

    version: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
    namespace: str
    name: str


class InconsistentContinuation(Expired):
    """The snapshot of a list is gone; its Status carries a token to go on without it."""

    def __init__(self, position: Position) -> None:
        super().__init__(_INCONSISTENT)
        self._token = token(Position(0, position.namespace, position.name))

    def status(self) -> dict[str, Any]:
        return {**super().status(), "metadata": {"continue": self._token}}


class TooLargeVersion(Timeout):
    """A version that the cluster has not reached."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(
            f"Timeout: Too large resource version: {asked}, current: {current}",
            details={
                "causes": [
                    {
                        "reason": "ResourceVersionTooLarge",
                        "message": "Too large resource version",
                    }
                ],
                "retryAfterSeconds": 1,
            },
        )


def list_page(cluster: Cluster, kind: Kind, namespace: str | None, wanted: Selection) -> Page:
    """The page that the parameters ask for.

    Raises BadRequest, Expired or TooLargeVersion for parameters that cannot be served.
    """
    if wanted.version and wanted.version > cluster.resource_version:
        raise TooLargeVersion(wanted.version, cluster.resource_version)
    if wanted.continue_:
        return _next_page(cluster, kind, namespace, wanted, _position(wanted.continue_))
    if wanted.exact and wanted.version:
        return _page_at(cluster, kind, namespace, wanted, Position(wanted.version, "", ""))
    return _current(cluster, kind, namespace, wanted, None)


def token(position: Position) -> str:
    """The continue token for a position."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode()


def _next_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: Selection, position: Position
) -> Page:
    if not position.version:
        return _current(cluster, kind, namespace, wanted, position)
    if position.version < cluster.forgotten_version:
        raise InconsistentContinuation(position)
    if history.changed_since(cluster, kind, position.version):
        try:
            return _page_at(cluster, kind, namespace, wanted, position)
        except Expired as error:
            raise InconsistentContinuation(position) from error
    return _current(cluster, kind, namespace, wanted, position)


def _current(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: Selection, after: Position | None
) -> Page:
    page = selectors.list_objects(
        cluster,
        kind,
        namespace=namespace,
        label_selector=wanted.labels,
        field_selector=wanted.fields,
        limit=wanted.limit,
        after=(after.namespace, after.name) if after else None,
    )
    version = (after.version if after else 0) or page.resource_version
    return _closed(page.items, version, page.more, page.remaining)


def _page_at(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: Selection, position: Position
) -> Page:
    matcher = Matcher(kind, namespace, wanted.labels, wanted.fields)
    after = (position.namespace, position.name)
    found = history.list_at(cluster, kind, position.version, matcher, after=after)
    items = found[: wanted.limit] if wanted.limit else found
    remaining = len(found) - len(items)
    return _closed(items, position.version, remaining > 0, None if matcher.selective else remaining)


def _closed(items: list[dict[str, Any]], version: int, more: bool, remaining: int | None) -> Page:
    continue_ = ""
    if more:
        last = items[-1]["metadata"]
        continue_ = token(Position(version, last.get("namespace", ""), last["name"]))
    return Page(items, version, continue_, remaining if more else None)


def _position(text: str) -> Position:
    try:
        raw = base64.urlsafe_b64decode(text.encode())
        position = msgspec.json.decode(raw, type=Position)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise BadRequest(f"continue key is not valid: {error}") from error
    if "\x00" in position.namespace + position.name:
        raise BadRequest("continue key is not valid: it holds a NUL character")
    return position
