"""Creates pods from a template, and computes hashes of templates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from apps.cluster import kinds
from apps.cluster.admission.names import ALPHABET
from apps.cluster.writes import Create
from apps.controllers.cache import owner_reference
from apps.scheduler.objects.meta import POD_TEMPLATE_HASH

Body = dict[str, Any]

REVISION_LABEL = "controller-revision-hash"


def template_hash(template: Mapping[str, Any]) -> str:
    """A short hash of a pod template, the same for equal templates."""
    digest = hashlib.sha256(msgspec.json.encode(template, order="deterministic")).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:10])


def is_same_template(template: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two pod templates are equal as Deployments and revisions compare them.

    Absent, null and empty fields are equal, and the label with the hash of a template is not
    compared: an object that another controller named by its own hash has the template still.
    """
    return template == other or _comparable(template) == _comparable(other)


def _comparable(template: Mapping[str, Any]) -> Any:
    metadata = dict(template.get("metadata") or {})
    labels = metadata.get("labels") or {}
    metadata["labels"] = {k: v for k, v in labels.items() if k != POD_TEMPLATE_HASH}
    rest = {name: value for name, value in template.items() if name != "$patch"}
    return _without_empty({**rest, "metadata": metadata})


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    fields = {name: _without_empty(each) for name, each in value.items()}
    return {name: each for name, each in fields.items() if each not in (None, {}, [])}


def new_pod(
    owner: Body,
    *,
    name: str = "",
    prefix: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Create:
    """A pod of the owner's template, with these labels, annotations and fields in addition.

    Without a name, it is generated from the prefix, by default the name of the owner. With both,
    the pod says what its name begins with.
    """
    template, metadata = owner["spec"]["template"], owner["metadata"]
    given = template.get("metadata") or {}
    body: Body = {
        "metadata": {
            **({"name": name} if name else {}),
            **({"generateName": prefix or f"{metadata['name']}-"} if prefix or not name else {}),
            "namespace": metadata["namespace"],
            "labels": {**(given.get("labels") or {}), **(labels or {})},
            "annotations": {**(given.get("annotations") or {}), **(annotations or {})},
            "finalizers": list(given.get("finalizers") or []),
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": {**template["spec"], **(spec or {})},
    }
    return Create(kinds.POD, body, metadata["namespace"])
