"""Watches: the events of a stream, read from the change log. Does no I/O with the client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from apps.api.kubernetes import params
from apps.api.kubernetes.calls import Call
from apps.api.kubernetes.media import Media
from apps.api.kubernetes.presenting import as_event_object
from apps.api.kubernetes.protobuf import envelopes
from apps.cluster import queries, sql
from apps.cluster.custom.conversion import from_stored, may_call
from apps.cluster.errors import ApiError, Expired
from apps.cluster.log import changelog
from apps.cluster.log.changelog import LoggedChange
from apps.cluster.log.feed import ChangeFeed
from apps.cluster.selectors import Matcher
from apps.cluster.writing.webhook_calls import webhooks_of

Body = dict[str, Any]

#: Number of changes read from the log at once.
BATCH = 500
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The parameters of a watch, besides its selectors."""

    #: Seconds until the server ends the watch; None: no limit.
    timeout: int | None
    bookmarks: bool
    #: Start with the existing objects.
    initial: bool
    #: Start after this version; None: after the current one.
    version: int | None


def watch_options(call: Call) -> WatchOptions:
    """The parameters of a watch; Invalid or BadRequest if they conflict."""
    query = call.query
    params.check_watch(query)
    version = params.resource_version(query)
    given = "sendInitialEvents" in query
    wanted = params.flag(query, "sendInitialEvents") if given else not version
    return WatchOptions(
        timeout=params.number(query, "timeoutSeconds"),
        bookmarks=params.flag(query, "allowWatchBookmarks"),
        initial=wanted,
        version=version or None,
    )


@dataclass(slots=True)
class Watch:
    """One watch: produces its events as lines of JSON, or as frames of protobuf."""

    call: Call
    options: WatchOptions
    version: int = 0
    _matcher: Matcher = field(init=False)
    #: uid -> whether the object matched when it was last seen; for selective watches.
    _matched: dict[str, bool] = field(default_factory=dict)
    _first: bool = True

    def __post_init__(self) -> None:
        call, query = self.call, self.call.query
        fields = query.get("fieldSelector", "")
        if call.target.name:
            fields = f"metadata.name={call.target.name}"
        self._matcher = Matcher(
            call.resource.kind, call.target.namespace, query.get("labelSelector", ""), fields
        )

    def begin(self) -> Iterator[bytes]:
        """The existing objects, if requested; sets the version to continue from.

        The objects are read while they are sent: until the iterator is at its end or closed, the
        thread can run no other query.
        """
        if not self.options.initial:
            self.version = self.options.version or self.call.cluster.resource_version
            return
        selection = queries.Selection(namespace=self.call.target.namespace)
        page = queries.stream_texts(self.call.cluster, self.call.resource.kind, selection)
        self.version = page.resource_version
        for body in self._in_version(sql.load_json(text) for text in page.items):
            if self._matcher.matches(body):
                if self._matcher.selective:
                    self._matched[body["metadata"]["uid"]] = True
                yield self._line("ADDED", body)
        if self.options.bookmarks:
            yield self.bookmark(initial_events_end=True)

    def read_lines(self) -> list[bytes]:
        """The changes after `version` from the log, possibly none.

        Expired if the log no longer has them.
        """
        cluster = self.call.cluster
        cluster.refresh_from_db(fields=["forgotten_version"])
        forgotten = cluster.forgotten_version
        if self.version < forgotten:
            raise Expired(f"too old resource version: {self.version} ({forgotten})")
        lines: list[bytes] = []
        while not lines:
            changes = changelog.changes_after(
                cluster.pk, self.version, kinds=[self.call.resource.kind.key], limit=BATCH
            )
            if not changes:
                break
            lines.extend(self._events(changes))
            self.version = changes[-1].version
        return lines

    def lines_of(self, changes: Sequence[LoggedChange], feed: ChangeFeed) -> list[bytes]:
        """The events of these changes of any kind, which follow `version`."""
        own = [change for change in changes if change.kind == self.call.resource.kind.key]
        if changes:
            self.version = changes[-1].version
        resource = self.call.resource
        if self._matcher.selective or self.call.media.as_ or resource.kind.is_stored_otherwise:
            return list(self._events(own))
        return [
            feed.encode_once(
                change.version,
                (resource.group, resource.version, self.call.media.format),
                partial(_encode_change, self.call, change),
            )
            for change in own
            if self._matcher.namespace in (None, change.namespace)
        ]

    def needs_log(self, changes: Sequence[LoggedChange]) -> bool:
        """Whether more has to be read for the events of these changes: earlier objects, answers."""
        kind = self.call.resource.kind
        if not (self._matcher.selective or may_call(kind)):
            return False
        return any(
            change.kind == kind.key and (change.previous_version is not None or may_call(kind))
            for change in changes
        )

    def bookmark(self, *, initial_events_end: bool = False) -> bytes:
        """A bookmark with the current version of the stream."""
        resource = self.call.resource
        metadata: Body = {"resourceVersion": str(self.version)}
        if initial_events_end:
            metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
        body = {
            "kind": resource.kind.name,
            "apiVersion": resource.api_version,
            "metadata": metadata,
        }
        return self._line("BOOKMARK", body)

    @property
    def is_empty(self) -> bool:
        """Whether it ends before its first event: at once, or because no event has its form."""
        timeout = self.options.timeout
        return (timeout is not None and timeout < 0) or (
            self.call.media.as_ == "PartialObjectMetadataList"
        )

    def _events(self, changes: list[LoggedChange]) -> Iterator[bytes]:
        bodies = self._in_version(change.object for change in changes)
        if not self._matcher.selective:
            for change, body in zip(changes, bodies, strict=True):
                if self._matcher.matches(body):
                    yield self._line(change.type, body)
            return
        before = self._objects_before(changes)
        for change, body in zip(changes, bodies, strict=True):
            if event := self._selection_event(change, body, before):
                yield self._line(*event)

    def _in_version(self, stored: Iterable[Body]) -> Iterable[Body]:
        """These objects in the version that is watched."""
        kind = self.call.resource.kind
        if not kind.is_stored_otherwise:
            return stored
        return from_stored(kind, list(stored), webhooks_of(self.call.cluster))

    def _objects_before(self, changes: Iterable[LoggedChange]) -> dict[int, Body]:
        """The objects before these changes."""
        versions = [c.previous_version for c in changes if c.previous_version is not None]
        versions_before = changelog.objects_at(self.call.cluster.pk, versions) if versions else {}
        return dict(zip(versions_before, self._in_version(versions_before.values()), strict=True))

    def _selection_event(
        self, change: LoggedChange, body: Body, before: dict[int, Body]
    ) -> tuple[str, Body] | None:
        """The event of a change for a watch with a selector: objects start and stop matching."""
        old = before.get(change.previous_version or 0)
        known = self._matched.get(change.uid)
        was = known if known is not None else old is not None and self._matcher.matches(old)
        is_ = change.type != "DELETED" and self._matcher.matches(body)
        if change.type == "DELETED":
            self._matched.pop(change.uid, None)
        else:
            self._matched[change.uid] = is_
        if is_:
            return "MODIFIED" if was else "ADDED", body
        if not was:
            return None
        last = body if change.type == "DELETED" or old is None else old
        metadata = {**last["metadata"], "resourceVersion": str(change.version)}
        return "DELETED", {**last, "metadata": metadata}

    def _line(self, event: str, body: Body) -> bytes:
        shown = as_event_object(self.call, body, first=self._first)
        line = _encode(self.call.media, event, shown)
        self._first = False
        return line


def content_type(media: Media) -> str:
    """The content type of a watch."""
    return f"{envelopes.MEDIA_TYPE};stream=watch" if _is_framed(media) else "application/json"


def error_line(media: Media, refusal: ApiError) -> bytes:
    """The last line of a watch that cannot continue."""
    return _encode(media, "ERROR", refusal.status())


def _encode_change(call: Call, change: LoggedChange) -> bytes:
    if call.resource.as_stored and not _is_framed(call.media):
        return f'{{"type":"{change.type}","object":{change.line}}}\n'.encode()
    return _encode(call.media, change.type, call.resource.to_wire(change.object))


def _encode(media: Media, event: str, body: Body) -> bytes:
    if _is_framed(media):
        return envelopes.frame(event, body)
    return msgspec.json.encode({"type": event, "object": body}) + b"\n"


def _is_framed(media: Media) -> bool:
    return media.format == "protobuf"
