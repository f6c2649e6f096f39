"""Lists: the current state, the state at a version, and pages of one snapshot."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from apps.api.kubernetes.params import ListOptions
from apps.cluster import queries
from apps.cluster.errors import BadRequest, Expired, Timeout
from apps.cluster.kinds import Kind
from apps.cluster.log import history
from apps.cluster.models import Cluster
from apps.cluster.queries import Selection
from apps.cluster.selectors import Matcher

Body = dict[str, Any]

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


_NOT_BASE64 = re.compile(r"[^A-Za-z0-9_-]")

Items = TypeVar("Items")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Items]):
    """Objects in (namespace, name) order, as of `version`."""

    items: Items
    version: int
    #: Token for the next page; empty on the last one.
    continue_: str
    #: Number of objects after this page; None if not counted (with a selector).
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
    """A continue token: where the previous page ended. Version 0 means the current state."""

    version: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
    namespace: str
    name: str


class InconsistentContinuation(Expired):
    """The snapshot of a list has expired; the Status has a token to continue without it."""

    def __init__(self, position: Position) -> None:
        super().__init__(_INCONSISTENT)
        self._token = token(Position(0, position.namespace, position.name))

    def status(self) -> dict[str, Any]:
        return {**super().status(), "metadata": {"continue": self._token}}


class TooLargeVersion(Timeout):
    """A version that the cluster has not reached yet."""

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


def list_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: ListOptions
) -> ListPage[list[Body]]:
    """The page that the parameters request.

    Raises BadRequest, Expired or TooLargeVersion for parameters that cannot be served.
    """
    page = text_page(cluster, kind, namespace, wanted)
    bodies = [msgspec.json.decode(text) for text in page.items]
    return ListPage(bodies, page.version, page.continue_, page.remaining)


def text_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: ListOptions
) -> ListPage[Iterator[str]]:
    """`list_page` with an iterator of the objects as JSON text, which are read as they are sent.

    Until the iterator is at its end or closed, the thread can run no other query.
    """
    if wanted.version and wanted.version > cluster.resource_version:
        raise TooLargeVersion(wanted.version, cluster.resource_version)
    position = parse_position(wanted.continue_) if wanted.continue_ else Position(0, "", "")
    if wanted.exact and wanted.version:
        position = Position(wanted.version, "", "")
    if position.version and position.version < cluster.forgotten_version:
        raise _expired(position, wanted)
    if position.version and history.has_changed_since(cluster, kind, position.version):
        try:
            return _past_page(cluster, kind, namespace, wanted, position)
        except Expired as error:
            raise _expired(position, wanted) from error
    return _current_page(cluster, kind, namespace, wanted, position)


def token(position: Position) -> str:
    """The continue token for a position."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def _expired(position: Position, wanted: ListOptions) -> Expired:
    if wanted.continue_:
        return InconsistentContinuation(position)
    return Expired("The resourceVersion for the provided list is too old.")


def _current_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: ListOptions, position: Position
) -> ListPage[Iterator[str]]:
    selection = Selection(
        namespace=namespace,
        labels=wanted.labels,
        fields=wanted.fields,
        limit=wanted.limit,
        after=(position.namespace, position.name) if wanted.continue_ else None,
    )
    page = queries.stream_texts(cluster, kind, selection)
    version = position.version or page.resource_version
    continue_ = token(Position(version, *page.next_after)) if page.next_after else ""
    return ListPage(page.items, version, continue_, page.remaining)


def _past_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: ListOptions, position: Position
) -> ListPage[Iterator[str]]:
    matcher = Matcher(kind, namespace, wanted.labels, wanted.fields)
    after = (position.namespace, position.name)
    stored = history.stream_texts_at(cluster, kind, position.version, after=after)
    found = (each for each in stored if matcher.matches(msgspec.json.decode(each[2])))
    # so that an expired version is reported before the answer begins
    shown = list(islice(found, wanted.limit or 1))
    rest = sum(1 for _ in found) if wanted.limit else 0
    if not rest:
        texts = (text for _, _, text in chain(shown, found))
        return ListPage(texts, position.version, "", None)
    namespace_, name, _ = shown[-1]
    continue_ = token(Position(position.version, namespace_, name))
    texts = (text for _, _, text in shown)
    return ListPage(texts, position.version, continue_, None if matcher.selective else rest)


def parse_position(text: str) -> Position:
    """The position in a continue token; BadRequest if it is invalid."""
    raw = _token_bytes(text)
    try:
        position = msgspec.json.decode(raw, type=Position)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _invalid_token(_json_problem(raw, error)) from error
    if "\x00" in position.namespace + position.name:
        raise _invalid_token("it holds a NUL character")
    return position


def _token_bytes(text: str) -> bytes:
    """The bytes of a token, which is base64 for URLs without padding."""
    wrong = _NOT_BASE64.search(text)
    at = wrong.start() if wrong else len(text) - 1 if len(text) % 4 == 1 else -1
    if at >= 0:
        raise _invalid_token(f"illegal base64 data at input byte {len(text[:at].encode())}")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _json_problem(raw: bytes, error: Exception) -> str:
    """What a decoder of JSON finds at the first character."""
    first = raw.lstrip()[:1]
    if not first:
        return "unexpected end of JSON input"
    if first in b'{["-0123456789tfn':
        return str(error)
    char = chr(first[0])
    shown = char if char.isprintable() else f"\\u{first[0]:04x}"
    return f"invalid character '{shown}' looking for beginning of value"


def _invalid_token(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
