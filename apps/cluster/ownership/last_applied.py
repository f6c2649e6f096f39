"""The annotation in which kubectl keeps what it applied last, with and without the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.kind import Kind
from apps.cluster.ownership import field_paths
from apps.cluster.ownership.paths import Paths

Body = dict[str, Any]

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: The manager of `kubectl apply --server-side`; other managers leave the annotation as it is.
KUBECTL: Final = "kubectl"
#: Of the annotations of an object.
_MOST_BYTES: Final = 256 * 1024


def unchanged_paths(live: Body, kind: Kind, definition: str) -> Paths:
    """What the last apply without the server set and the object still has.

    kubectl may apply it with the server, whoever owns it.
    """
    try:
        last = json.loads(_text_of(live) or "null")
    except ValueError:
        return frozenset()
    if not isinstance(last, dict) or last.get("apiVersion") != kind.api_version:
        return frozenset()
    comparison = field_paths.compare(last, live, definition)
    changed = comparison.added | comparison.modified | comparison.removed
    return field_paths.paths_of(last, definition) - changed


def synchronized(body: Body, sent: Mapping[str, Any]) -> Body:
    """The object with what kubectl has sent as its last apply, if it had one."""
    if not _text_of(body):
        return body
    metadata = dict(sent.get("metadata") or {})
    if metadata.get("annotations") is not None:
        given = metadata["annotations"]
        metadata["annotations"] = {name: given[name] for name in given if name != ANNOTATION}
    text = f"{_in_go({**sent, 'metadata': metadata})}\n"
    if len(text.encode()) + len(ANNOTATION) > _MOST_BYTES:
        text = ""
    annotations = {**body["metadata"]["annotations"], ANNOTATION: text}
    return {**body, "metadata": {**body["metadata"], "annotations": annotations}}


def _text_of(body: Body) -> str:
    return (body["metadata"].get("annotations") or {}).get(ANNOTATION) or ""


def _in_go(value: Mapping[str, Any]) -> str:
    """As Go writes JSON, with what HTML gives a meaning escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
