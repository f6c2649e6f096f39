"""What follows the write of a CustomResourceDefinition: the API server serves it, or deletes it
and its objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from apps.cluster.admission import custom_definitions
from apps.cluster.custom.versions import DEFINITION
from apps.cluster.kinds import by_key
from apps.cluster.models import Cluster, DataObject
from apps.cluster.writes import Actor, Delete, Update, Write, key_of
from apps.cluster.writing.metadata import timestamp
from apps.cluster.writing.transaction import WriteTransaction

Body = dict[str, Any]

_ACTOR: Final = Actor("system:apiserver", manager="kube-apiserver")


def follow_up(cluster: Cluster, written: Write) -> None:
    """Serve a definition that was created or changed; delete one whose deletion was requested."""
    name = key_of(written)[2]
    at = timestamp(cluster.now())
    if isinstance(written, Delete):
        _change_status(cluster, name, partial(custom_definitions.clean_up, at=at))
        _write(cluster, list(deletions(cluster, name)))
        release = Update(DEFINITION, "", name, custom_definitions.release, "finalize", trusted=True)
        _write(cluster, [release])
        return
    if isinstance(written, Update) and written.subresource == "status":
        return
    _change_status(cluster, name, partial(custom_definitions.accept_names, at=at))
    _change_status(cluster, name, partial(custom_definitions.establish, at=at))


def _change_status(cluster: Cluster, name: str, change: Callable[[Body], Body]) -> None:
    _write(cluster, [Update(DEFINITION, "", name, change, "status", reviewed=True)])


def _write(cluster: Cluster, writes: Sequence[Write]) -> None:
    # what somebody else has deleted in the meantime needs nothing more
    transaction = WriteTransaction(cluster, _ACTOR, collect_refusals=True)
    transaction.run(writes, dry_run=False, wake=False)


def deletions(cluster: Cluster, definition: str) -> Iterator[Write]:
    """The writes that delete all objects of a CustomResourceDefinition, finalizers or not."""
    kind = by_key(definition)
    rows = DataObject.objects.filter(cluster=cluster, kind=definition).order_by("pk")
    for namespace, name, finalizers in rows.values_list(
        "namespace", "name", "body__metadata__finalizers"
    ):
        if finalizers:
            yield Update(kind, namespace, name, _without_finalizers, "finalize", trusted=True)
        yield Delete(kind, namespace, name, reviewed=True)


def _without_finalizers(body: Body) -> Body:
    metadata = {name: value for name, value in body["metadata"].items() if name != "finalizers"}
    return {**body, "metadata": metadata}
