"""Owner references of imported objects: created objects have other uids than those in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apps.cluster import kinds
from apps.cluster.models import Cluster

Body = dict[str, Any]
#: apiVersion, kind, namespace and name of an object
Key = tuple[str, str, str, str]


class Owners:
    """The uids of the objects that an import has created so far."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._uids: dict[Key, str] = {}

    def add(self, created: Sequence[Body]) -> None:
        for body in created:
            metadata = body["metadata"]
            namespace = metadata.get("namespace", "")
            key = body["apiVersion"], body["kind"], namespace, metadata["name"]
            self._uids[key] = metadata["uid"]

    def refer(self, body: Body, namespace: str) -> Body:
        """The object with references to the owners that exist; others are left out.

        The garbage collector would delete an object whose owners do not exist.
        """
        references = body["metadata"].get("ownerReferences")
        if not isinstance(references, list) or not references:
            return body
        found = [self._reference(each, namespace) for each in references]
        kept = [each for each in found if each is not None]
        metadata = {**body["metadata"], "ownerReferences": kept}
        if not kept:
            del metadata["ownerReferences"]
        return {**body, "metadata": metadata}

    def _reference(self, reference: Any, namespace: str) -> Any:
        """The reference to use; None if its owner does not exist."""
        if not isinstance(reference, Mapping):
            return reference  # validation names the field
        named = (str(reference.get(field)) for field in ("apiVersion", "kind", "name"))
        api_version, kind, name = named
        for place in (namespace, ""):
            uid = self._uids.get((api_version, kind, place, name))
            if uid is not None:
                return {**reference, "uid": uid}
        return reference if self._exists(api_version, kind, str(reference.get("uid"))) else None

    def _exists(self, api_version: str, kind: str, uid: str) -> bool:
        try:
            rows = kinds.by_api_version(api_version, kind).objects(self._cluster)
        except KeyError:
            return True
        return rows.extra(where=["uid::text = %s"], params=[uid]).exists()
