"""The uids of imported objects, and of what refers to them by uid."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apps.cluster import kinds
from apps.cluster.manifests.reading import Numbered
from apps.cluster.models import Cluster
from apps.cluster.random_ids import random_uuid_text

Body = dict[str, Any]
#: apiVersion, kind, namespace and name of an object
Key = tuple[str, str, str, str]


class Identities:
    """The uids of the objects that an import creates.

    They are new, because an import may be repeated in another cluster; with `keep`, an object
    keeps the one that it has in the file.
    """

    def __init__(self, cluster: Cluster, *, keep: bool = False) -> None:
        self._cluster = cluster
        self._keep = keep
        #: uid in the file -> uid in the cluster
        self._known: dict[str, str] = {}
        self._owners: dict[Key, str] = {}

    def assign(self, numbered: Sequence[Numbered]) -> list[str]:
        """The uid of each object, in order; to be called before `translate`."""
        return [self._assign(kind.namespaced, body) for _, kind, body in numbered]

    def _assign(self, namespaced: bool, body: Body) -> str:
        metadata = body["metadata"]
        before = metadata.get("uid")
        # a copy of an object that is in the file, too, is an object of its own
        is_first = _is_uid(before) and before not in self._known
        uid = str(before) if is_first and self._keep else random_uuid_text()
        if is_first:
            self._known[before] = uid
        namespace = metadata.get("namespace") or "default" if namespaced else ""
        api_version, kind = str(body.get("apiVersion")), str(body.get("kind"))
        self._owners[api_version, kind, str(namespace), str(metadata.get("name"))] = uid
        return uid

    def translate(self, body: Body, namespace: str) -> Body:
        """The object with the uids that other objects of the file have here.

        These are in references to owners, selectors of Jobs, claims of volumes and the like.
        References to owners that do not exist are left out: the garbage collector would delete the
        object.
        """
        moved = body if self._keep else self._translate(body)
        references = moved["metadata"].get("ownerReferences")
        if not isinstance(references, list) or not references:
            return moved
        translated = [self._reference(each, namespace) for each in references]
        kept = [each for each in translated if each is not None]
        metadata = {**moved["metadata"], "ownerReferences": kept}
        if not kept:
            del metadata["ownerReferences"]
        return {**moved, "metadata": metadata}

    def _translate(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._known.get(value, value)
        if isinstance(value, dict):
            return {name: self._translate(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._translate(each) for each in value]
        return value

    def _reference(self, reference: Any, namespace: str) -> Any:
        """The reference to use; None if its owner does not exist."""
        if not isinstance(reference, Mapping):
            return reference  # validation names the field
        api_version, kind, name = (str(reference.get(f)) for f in ("apiVersion", "kind", "name"))
        for place in (namespace, ""):
            uid = self._owners.get((api_version, kind, place, name))
            if uid is not None:
                return {**reference, "uid": uid}
        return reference if self._exists(api_version, kind, str(reference.get("uid"))) else None

    def _exists(self, api_version: str, kind: str, uid: str) -> bool:
        try:
            rows = kinds.by_api_version(api_version, kind).objects(self._cluster)
        except KeyError:
            return True
        return rows.extra(where=["uid::text = %s"], params=[uid]).exists()


def _is_uid(value: Any) -> bool:
    try:
        return bool(str(uuid.UUID(value)) == value)
    except (ValueError, AttributeError, TypeError):
        return False


def owners_of(cluster: Cluster, uids: Collection[str]) -> dict[str, tuple[str, str, str]]:
    """(kind, namespace, name) of the objects of a cluster that have these uids."""
    by_uid: dict[str, tuple[str, str, str]] = {}
    for model in dict.fromkeys(kind.model for kind in kinds.ALL):
        objects = model._default_manager.filter(cluster=cluster, uid__in=uids)
        for uid, *owner in objects.values_list("uid", "body__kind", "namespace", "name"):
            kind, namespace, name = owner
            by_uid[str(uid)] = (kind, namespace, name)
    return by_uid
