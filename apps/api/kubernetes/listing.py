"""Lists: the current state, the state at a version, and pages of one snapshot."""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final, Generic, TypeVar

import msgspec

from apps.api.kubernetes.params import ListOptions
from apps.cluster import queries, sql
from apps.cluster.custom.conversion import from_stored
from apps.cluster.errors import BadRequest, Expired, Timeout
from apps.cluster.json_syntax import json_name, syntax_error
from apps.cluster.kinds import Kind
from apps.cluster.log import history
from apps.cluster.models import Cluster
from apps.cluster.queries import Selection
from apps.cluster.selectors import Matcher, names_one
from apps.cluster.writing.webhook_calls import webhooks_of

Body = dict[str, Any]

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


_TOKEN_VERSION: Final = "meta.k8s.io/v1"
#: The version of a token that goes on in the current state.
CURRENT: Final = -1
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9_-]")

Items = TypeVar("Items")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Items]):
    """Objects in (namespace, name) order, as of `version`."""

    items: Items
    version: int
    #: Token for the next page; empty on the last one.
    continue_: str
    #: Number of objects after this page; None if not counted.
    remaining: int | None

    def metadata(self) -> dict[str, Any]:
        """The ListMeta of this page."""
        meta: dict[str, Any] = {"resourceVersion": str(self.version)}
        if self.continue_:
            meta["continue"] = self.continue_
            if self.remaining:
                meta["remainingItemCount"] = self.remaining
        return meta


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page ended: objects after this key follow, as of a version; -1 means the current one.

    In a list of all namespaces the key begins with a namespace.
    """

    version: int
    key: str

    @classmethod
    def after(cls, version: int, last: tuple[str, str], namespace: str | None) -> Position:
        """The position behind an object, given as (namespace, name), in a list of `namespace`."""
        return cls(version, "/".join(filter(None, last)) if namespace is None else last[1])

    def last(self, kind: Kind, namespace: str | None) -> tuple[str, str]:
        """The (namespace, name) after which the list continues."""
        if namespace is not None or not kind.namespaced:
            return namespace or "", self.key
        before, _, name = self.key.partition("/")
        return before, name


class InconsistentContinuation(Expired):
    """The snapshot of a list has expired; the Status has a token to continue without it."""

    def __init__(self, position: Position) -> None:
        super().__init__(_INCONSISTENT)
        self._token = token(Position(CURRENT, position.key))

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
    if kind.is_stored_otherwise:
        return _converted_page(cluster, kind, namespace, wanted)
    return _stored_page(cluster, kind, namespace, wanted)


def _converted_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: ListOptions
) -> ListPage[Iterator[str]]:
    """A page of objects that are stored in other versions, and selected in their own.

    They are read before the first of them is converted, because a webhook may take its time.
    """
    matcher = Matcher(kind, namespace, wanted.labels, wanted.fields)
    # names are the same in every version, so the database can select by them
    fields = wanted.fields if names_one(kind, namespace, wanted.fields) else ""
    limit = 0 if matcher.selective else wanted.limit
    selected = replace(wanted, labels="", fields=fields, limit=limit)
    page = _stored_page(cluster, kind, namespace, selected)
    stored = [sql.load_json(text) for text in page.items]
    bodies = from_stored(kind, stored, webhooks_of(cluster))
    matching = [body for body in bodies if matcher.matches(body)]
    continue_ = page.continue_
    if wanted.limit and len(matching) > wanted.limit:
        matching = matching[: wanted.limit]
        last = matching[-1]["metadata"]
        key = last.get("namespace", ""), last["name"]
        continue_ = token(Position.after(page.version, key, namespace))
    texts = (msgspec.json.encode(body).decode() for body in matching)
    return ListPage(texts, page.version, continue_, page.remaining)


def _stored_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: ListOptions
) -> ListPage[Iterator[str]]:
    position = parse_position(wanted) if wanted.continue_ else None
    version = position.version if position else wanted.version or 0
    if version > cluster.resource_version:
        raise TooLargeVersion(version, cluster.resource_version)
    if position is None and wanted.exact:
        position = Position(version, "")
    if position is None or position.version == CURRENT:
        return _current_page(cluster, kind, namespace, wanted, position)
    if position.version < cluster.forgotten_version:
        raise _expired(position, wanted)
    if history.has_changed_since(cluster, kind, position.version):
        try:
            return _past_page(cluster, kind, namespace, wanted, position)
        except Expired as error:
            raise _expired(position, wanted) from error
    return _current_page(cluster, kind, namespace, wanted, position)


def token(position: Position) -> str:
    """The continue token for a position."""
    text = msgspec.json.encode(
        {"v": _TOKEN_VERSION, "rv": position.version, "start": f"{position.key}\x00"}
    )
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _expired(position: Position, wanted: ListOptions) -> Expired:
    if wanted.continue_:
        return InconsistentContinuation(position)
    return Expired("The resourceVersion for the provided list is too old.")


def _current_page(
    cluster: Cluster,
    kind: Kind,
    namespace: str | None,
    wanted: ListOptions,
    position: Position | None,
) -> ListPage[Iterator[str]]:
    selection = Selection(
        namespace=namespace,
        labels=wanted.labels,
        fields=wanted.fields,
        limit=wanted.limit,
        after=position.last(kind, namespace) if position and position.key else None,
    )
    page = queries.stream_texts(cluster, kind, selection)
    version = page.resource_version
    if position is not None and position.version != CURRENT:
        version = position.version
    more = page.next_after
    continue_ = token(Position.after(version, more, namespace)) if more else ""
    return ListPage(page.items, version, continue_, page.remaining)


def _past_page(
    cluster: Cluster, kind: Kind, namespace: str | None, wanted: ListOptions, position: Position
) -> ListPage[Iterator[str]]:
    matcher = Matcher(kind, namespace, wanted.labels, wanted.fields)
    stored = history.stream_texts_at(
        cluster, kind, position.version, after=position.last(kind, namespace)
    )
    inside = (each for each in stored if namespace in (None, each[0]))
    matching = (each for each in inside if matcher.matches(msgspec.json.decode(each[2])))
    # so that an expired version is reported before the answer begins
    shown = list(islice(matching, wanted.limit or 1))
    # objects that do not match follow, too: the next page may be empty
    is_page = wanted.limit and not names_one(kind, namespace, wanted.fields)
    rest = sum(1 for _ in inside) if is_page else 0
    if not rest:
        texts = (text for _, _, text in chain(shown, matching))
        return ListPage(texts, position.version, "", None)
    namespace_, name, _ = shown[-1]
    continue_ = token(Position.after(position.version, (namespace_, name), namespace))
    texts = (text for _, _, text in shown)
    return ListPage(texts, position.version, continue_, None if matcher.selective else rest)


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def parse_position(wanted: ListOptions) -> Position:
    """The position in the continue token of a list; BadRequest if it is invalid."""
    raw = _token_bytes(wanted.continue_)
    try:
        token = msgspec.json.decode(raw, type=_Token | None) or _Token()
    except msgspec.ValidationError as error:
        # the decoder may stop at a wrong type, before text that is no JSON
        raise _invalid_token(syntax_error(raw) or _wrong_shape(raw)) from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise _invalid_token(syntax_error(raw) or str(error)) from error
    if token.v != _TOKEN_VERSION:
        raise _invalid_token(f"server does not recognize this encoded version {token.v}")
    if not token.rv:
        raise _invalid_token(f"incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not token.start:
        raise _invalid_token(f"encoded start key empty (version {_TOKEN_VERSION})")
    if posixpath.normpath(f"/{token.start}") != f"/{token.start}":
        raise _invalid_token(token.start)
    if wanted.said not in ("", "0"):
        raise BadRequest("specifying resource version is not allowed when using continue")
    version = token.rv if token.rv > 0 else CURRENT
    return Position(version, token.start.partition("\x00")[0])


def _wrong_shape(raw: bytes) -> str:
    """Which field of a token has a value of another type."""
    value = msgspec.json.decode(raw)
    if not isinstance(value, dict):
        return (
            f"json: cannot unmarshal {json_name(value)} into Go value of type storage.continueToken"
        )
    for name, wanted in (("v", "string"), ("rv", "int64"), ("start", "string")):
        given = value.get(name)
        if given is not None and type(given) is not (int if name == "rv" else str):
            shown = json_name(given)
            return (
                f"json: cannot unmarshal {shown} into Go struct field continueToken.{name} "
                f"of type {wanted}"
            )
    return "json: cannot unmarshal number into Go struct field continueToken.rv of type int64"


def _token_bytes(text: str) -> bytes:
    """The bytes of a token, which is base64 for URLs without padding."""
    wrong = _NOT_BASE64.search(text)
    at = wrong.start() if wrong else len(text) - 1 if len(text) % 4 == 1 else -1
    if at >= 0:
        raise _invalid_token(f"illegal base64 data at input byte {len(text[:at].encode())}")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _invalid_token(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
