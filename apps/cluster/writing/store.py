"""The only way to change objects: every change of every cluster goes through `write`.

One write is one short transaction: lock the rows it changes, apply the changes, take one version
per change from the cluster's counter, write the rows and one log row per change, commit. Every way
to write takes its locks in one order, so that no two of them wait for each other:

    lease of the loop ──▶ rows, by kind and by id ──▶ counter of the cluster ──▶ quotas

The counter is locked late, because its row stays locked until the commit is on disk: versions
become visible in order, and a reader of the log never misses one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.db import OperationalError, connection

from apps.cluster import kinds
from apps.cluster.availability import is_deadlock
from apps.cluster.custom.conversion import from_stored
from apps.cluster.custom.versions import DEFINITION
from apps.cluster.errors import ApiError
from apps.cluster.kinds import Kind
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Cluster, Node
from apps.cluster.ownership.writes import Applying, Owners
from apps.cluster.writes import Actor, Create, Delete, Update, Write
from apps.cluster.writing.binding import bind_change
from apps.cluster.writing.definitions import follow_up
from apps.cluster.writing.rows import Row
from apps.cluster.writing.transaction import WriteTransaction
from apps.cluster.writing.webhook_calls import webhooks_of

log = logging.getLogger(__name__)

Body = dict[str, Any]

#: How often a write is tried that ends in a deadlock.
_TRIES: Final = 3


def ask(
    cluster: Cluster, writes: Sequence[Write], *, actor: Actor, dry_run: bool = False
) -> Sequence[Write | ApiError]:
    """Ask the webhooks of a cluster about writes that follow in a transaction of the caller.

    Webhooks are not called inside one, because it may hold locks. Returns what to give to `write`,
    with the errors of refused writes in their places.
    """
    return WriteTransaction(cluster, actor, collect_refusals=True).ask(writes, dry_run=dry_run)


def write(
    cluster: Cluster,
    writes: Sequence[Write | ApiError],
    *,
    actor: Actor,
    collect_refusals: bool = False,
    dry_run: bool = False,
    wake: bool = True,
    journal: list[ObjectChange] | None = None,
    known_row: Row | None = None,
) -> list[Body | ApiError]:
    """Execute `writes` in one transaction and return the resulting object of each.

    The first rejected write raises and nothing is written; with `collect_refusals` its error is
    returned in its place and the others continue. `wake` wakes the scheduling loop. The changes are
    appended to `journal`; they are real once the outermost transaction commits. May be called
    inside an outer transaction, but only once and as its last step, because it locks the counter;
    or several times if all calls only create objects, because then no other row is locked.
    `known_row` is the row of the object that all writes are about, if the caller has just read it.

    Raises BadRequest for a malformed object, Invalid by validation, Forbidden by admission,
    NotFound for a deleted cluster, and what the functions below name.

    The database ends a transaction that waits in a circle: nothing of it is written, so it is tried
    again, unless there is an outer transaction.
    """
    tries = 1 if connection.in_atomic_block else _TRIES
    while True:
        tries -= 1
        try:
            outcomes = WriteTransaction(cluster, actor, collect_refusals, journal, known_row).run(
                writes, dry_run=dry_run, wake=wake
            )
            break
        except OperationalError as error:
            if tries == 0 or not is_deadlock(error):
                raise
            log.warning("cluster %s: a write ended in a deadlock, trying again", cluster.name)
            # the row may have changed meanwhile
            known_row = None
    for written, outcome in [] if dry_run else zip(writes, outcomes, strict=True):
        if isinstance(written, ApiError) or isinstance(outcome, ApiError):
            continue
        if written.kind is DEFINITION:
            follow_up(cluster, written)
    return outcomes


def create(
    cluster: Cluster,
    kind: Kind,
    body: Mapping[str, Any],
    *,
    actor: Actor,
    namespace: str = "",
    dry_run: bool = False,
    applying: Applying | None = None,
    uid: str = "",
) -> Body:
    """Create one object and return it as stored; its uid is random without `uid`.

    Raises AlreadyExists for its name, NotFound for its namespace, and the errors of `write`.
    """
    wanted = Create(kind, body, namespace, applying, uid)
    return _single_outcome(cluster, kind, write(cluster, [wanted], actor=actor, dry_run=dry_run))


def create_many(
    cluster: Cluster,
    objects: Sequence[tuple[Kind, Mapping[str, Any]]],
    *,
    actor: Actor,
    wake: bool = True,
) -> list[Body]:
    """Create all objects or, if one is rejected, none; raises the errors of `create`."""
    writes = [Create(kind, body) for kind, body in objects]
    outcomes = write(cluster, writes, actor=actor, wake=wake)
    return [
        _single_outcome(cluster, kind, [body])
        for (kind, _), body in zip(objects, outcomes, strict=True)
    ]


def update(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    name: str,
    body: Mapping[str, Any],
    *,
    actor: Actor,
    subresource: str = "",
    dry_run: bool = False,
) -> Body:
    """Replace an object; raises Conflict when `body` carries an older resourceVersion.

    Raises NotFound for the object, and the errors of `write`.
    """
    return patch(
        cluster,
        kind,
        namespace,
        name,
        lambda _: body,
        actor=actor,
        subresource=subresource,
        dry_run=dry_run,
    )


def patch(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    name: str,
    change: Callable[[Body], Mapping[str, Any]],
    *,
    actor: Actor,
    subresource: str = "",
    dry_run: bool = False,
    owners: Owners | None = None,
    known_row: Row | None = None,
    reviewed: bool = False,
) -> Body:
    """Read, change and write an object, so that no write in between is lost.

    `known_row` is its row, if the caller has just read it; `change` may be called again with a
    newer one. `reviewed`: it asks admission policies itself. Raises NotFound for the object,
    Conflict for an older resourceVersion or uid in the result, and the errors of `write` and of
    `change`.
    """
    wanted = Update(kind, namespace, name, change, subresource, owners=owners, reviewed=reviewed)
    return _single_outcome(
        cluster, kind, write(cluster, [wanted], actor=actor, dry_run=dry_run, known_row=known_row)
    )


def bind(
    cluster: Cluster,
    namespace: str,
    name: str,
    binding: Mapping[str, Any],
    *,
    actor: Actor,
    dry_run: bool = False,
    known_row: Row | None = None,
    labels: Mapping[str, str] | None = None,
) -> Body:
    """Bind a pod; raises NotFound without it, Conflict if it is bound, gated or being deleted.

    `known_row` is the row of the pod and `labels` those of the node, if the caller has just read
    them.
    """
    if labels is None:
        target = (binding.get("target") or {}).get("name", "")
        labels = node_labels(cluster, [target]).get(target, {})
    change = bind_change(binding, labels, cluster.now())
    wanted = Update(kinds.POD, namespace, name, change, "binding", trusted=True)
    return _single_outcome(
        cluster,
        kinds.POD,
        write(cluster, [wanted], actor=actor, dry_run=dry_run, known_row=known_row),
    )


def delete(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    name: str,
    *,
    actor: Actor,
    options: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    known_row: Row | None = None,
) -> Body:
    """Delete an object, or mark it while something holds it; returns its last state.

    Raises NotFound for the object, Conflict if `options` name another uid or version, and Forbidden
    for objects of the system.
    """
    wanted = Delete(kind, namespace, name, options or {})
    return _single_outcome(
        cluster, kind, write(cluster, [wanted], actor=actor, dry_run=dry_run, known_row=known_row)
    )


def node_labels(cluster: Cluster, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Labels of the named nodes; nodes that do not exist are omitted."""
    rows = Node.objects.filter(cluster=cluster, name__in=set(names))
    return dict(rows.values_list("name", "labels"))


def _single_outcome(cluster: Cluster, kind: Kind, outcomes: Sequence[Body | ApiError]) -> Body:
    """The object, in the version of its kind; the error that refused it is raised."""
    outcome = outcomes[0]
    if isinstance(outcome, ApiError):
        raise outcome
    return from_stored(kind, [outcome], webhooks_of(cluster))[0]
