"""The row locks of one transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db.backends.utils import CursorWrapper

from apps.cluster import sql
from apps.cluster.allocation.services import Allocations, may_allocate
from apps.cluster.errors import ApiError
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.quota.charging import QUOTA
from apps.cluster.usage import countable
from apps.cluster.writes import Create, Key, Write, key_of
from apps.cluster.writing.rows import Row, take_counter
from apps.cluster.writing.rules import WriteRules

#: The rows of names, each looked up in the index: without statistics, as in a cluster that is being
#: created, a join may read all objects of the cluster instead.
_NAMED: Final = (
    "JOIN unnest(ARRAY(SELECT found.id FROM unnest(%s::text[], %s::text[]) AS w(namespace, name), "
    "LATERAL (SELECT o.id FROM {table} o WHERE o.cluster_id = %s AND o.namespace = w.namespace "
    "AND o.name = w.name LIMIT 1) AS found)) AS w(id) ON t.id = w.id"
)


class RowLocks:
    """Locks the rows that are written, and reads them into `rows`.

    Services and quotas lock the cluster's counter, too: the rules get what they need of them.
    """

    def __init__(self, cluster: Cluster, rules: WriteRules, rows: dict[Key, Row]) -> None:
        self._cluster = cluster
        self._rules = rules
        self._rows = rows

    def take(self, cursor: CursorWrapper, writes: Sequence[Write | ApiError]) -> None:
        """Lock the rows, kind by kind and in id order, so that two writes never deadlock."""
        wanted: dict[str, set[tuple[str, str]]] = {}
        kinds_of: dict[str, Kind] = {}
        for write in writes:
            if not isinstance(write, ApiError):
                kind_key, namespace, name = key_of(write)
                kinds_of[kind_key] = write.kind
                wanted.setdefault(kind_key, set()).add((namespace, name))
        for kind_key in sorted(wanted.keys() - {QUOTA.key}):
            names = sorted(wanted[kind_key])
            self._read_locked(
                cursor,
                kinds_of[kind_key],
                _NAMED.format(table=kinds_of[kind_key].table),
                [[ns for ns, _ in names], [name for _, name in names], self._cluster.pk],
            )
        self._expect_services(cursor, writes)
        if self._rules.charges is not None:
            countable_kinds = [each for each in wanted if countable(kinds_of[each])]
            self._lock_quotas(cursor, {ns for each in countable_kinds for ns, _ in wanted[each]})

    def _expect_services(self, cursor: CursorWrapper, writes: Sequence[Write | ApiError]) -> None:
        """Let no other write allocate addresses and ports of services until the commit."""
        services = [w for w in writes if not isinstance(w, ApiError) and may_allocate(w)]
        if not services:
            return
        take_counter(cursor, self._cluster)
        checks_range = self._rules.actor.is_api_client
        self._rules.allocations = Allocations(self._cluster, checks_range=checks_range)
        for write in services:
            if isinstance(write, Create):
                self._rules.allocations.expect(write.body)

    def _lock_quotas(self, cursor: CursorWrapper, namespaces: set[str]) -> None:
        """All quotas of these namespaces, behind the counter (see `quota.charging`)."""
        if self._rules.charges is None or not namespaces:
            return
        take_counter(cursor, self._cluster)
        wanted = "JOIN unnest(%s::text[]) AS w(namespace) ON t.namespace = w.namespace"
        self._read_locked(cursor, QUOTA, wanted, [sorted(namespaces)])
        for key, row in self._rows.items():
            if row.kind is QUOTA and row.body is not None:
                self._rules.charges.watch(key, row.body)

    def _read_locked(
        self, cursor: CursorWrapper, kind: Kind, wanted: str, parameters: list[Any]
    ) -> None:
        cursor.execute(
            "SELECT t.id, t.namespace, t.name, t.resource_version, t.body::text "
            f"FROM {kind.table} t {wanted} "
            "WHERE t.cluster_id = %s ORDER BY t.id FOR NO KEY UPDATE OF t",
            [*parameters, self._cluster.pk],
        )
        for row_id, namespace, name, version, body in cursor.fetchall():
            row = Row(kind, row_id, version, sql.load_json(body))
            self._rows[kind.key, namespace, name] = row
