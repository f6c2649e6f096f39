"""The JSON text of pods that wait for a node, so that a binding need not read it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from django.db import connection

from apps.scheduler.objects import Pod

#: Characters that are kept. Of further pods the text is read when they are bound: the pods that
#: came first are bound first.
CAPACITY: Final = 16 * 2**20


class PendingTexts:
    """Texts by uid, each of one version."""

    def __init__(self) -> None:
        #: uid -> (resourceVersion, text)
        self._texts: dict[str, tuple[str, str]] = {}
        self._size = 0

    def put(self, pod: Pod, body: str | dict[str, Any]) -> None:
        """Keep the text of a pod, if `body` is text and there is room."""
        uid = pod.metadata.uid
        self.remove(uid)
        if isinstance(body, str) and self._size + len(body) <= CAPACITY:
            self._texts[uid] = pod.metadata.resource_version, body
            self._size += len(body)

    def remove(self, uid: str) -> None:
        """Forget a pod."""
        known = self._texts.pop(uid, None)
        if known is not None:
            self._size -= len(known[1])

    def texts(self, cluster_id: int, pods: Collection[Pod]) -> dict[str, str]:
        """The text of each pod at its version; pods that have changed since are missing."""
        texts, missing = {}, []
        for pod in pods:
            version, text = self._texts.get(pod.metadata.uid, ("", ""))
            if version == pod.metadata.resource_version:
                texts[pod.metadata.uid] = text
            else:
                missing.append(pod.metadata)
        if missing:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT t.uid::text, t.body::text "
                    "FROM unnest(%s::text[], %s::text[], %s::bigint[]) "
                    "AS w(namespace, name, version) CROSS JOIN LATERAL ("
                    # not flattened: one look into the index for each pod
                    "SELECT uid, body FROM cluster_pod WHERE cluster_id = %s "
                    "AND namespace = w.namespace AND name = w.name "
                    "AND resource_version = w.version OFFSET 0) t",
                    [
                        [each.namespace for each in missing],
                        [each.name for each in missing],
                        [int(each.resource_version) for each in missing],
                        cluster_id,
                    ],
                )
                texts |= dict(cursor.fetchall())
        return texts
