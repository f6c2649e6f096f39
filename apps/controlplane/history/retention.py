"""Retention: what was recorded is kept for so many days and up to a number, cluster by cluster.

Ages are counted in days of the database's clock, on which rows are recorded: a cluster's own clock
may be set a year ahead, and its decisions are a minute old all the same. Every run does a bounded
amount of work and leaves the rest to the next one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings
from django.db import OperationalError, connection, transaction

from apps.cluster.log.forgetting import forget_changes
from apps.cluster.models import Cluster
from apps.controlplane.history import past_clusters
from apps.controlplane.ledger.reading import read
from apps.controlplane.models import PastCluster, SchedulingDecision
from apps.controlplane.partitions import daily

log = logging.getLogger(__name__)

LEDGER = SchedulingDecision._meta.db_table
#: Of every other recorded table, so many rows for each decision that may be kept.
ROWS_PER_DECISION = 10
#: Rows that one transaction deletes, and how long a run goes on.
STEP = 2000
RUN_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How long the history of a cluster is kept; 0 = without a limit."""

    ledger_days: int
    ledger_rows: int
    changelog_days: int
    #: changes are kept as long as a kept decision may be rebuilt from them
    changelog_covers_ledger: bool

    @classmethod
    def of(cls, cluster: Cluster | None) -> Policy:
        """The cluster's own settings, where it has any; the site's for one that is gone."""

        def chosen(name: str) -> int:
            own = getattr(cluster, name, None)
            return int(settings.RETENTION[name] if own is None else own)

        return cls(
            chosen("ledger_max_days"),
            chosen("ledger_max_decisions"),
            chosen("changelog_max_days"),
            bool(chosen("changelog_covers_ledger")),
        )

    def expired(self, today: date) -> date | None:
        """Decisions recorded before this day are too old; None = no decision is."""
        return today - timedelta(days=self.ledger_days) if self.ledger_days else None


def run(seconds: float = RUN_SECONDS) -> None:
    """Forget what is too old or too much, for at most about so long."""
    deadline = time.monotonic() + seconds
    today = daily.today()
    clusters = list(Cluster.objects.order_by("pk"))
    past = list(PastCluster.objects.order_by("pk"))
    mark_versions(today)
    everybody = [Policy.of(cluster) for cluster in clusters]
    drop_partitions(today, [*everybody, Policy.of(None)] if past else everybody)
    for cluster in clusters:
        policy = Policy.of(cluster)
        trim(cluster.pk, policy, today, deadline)
        while time.monotonic() < deadline and forget_changes(
            cluster.pk, changelog_horizon(cluster, policy, today)
        ):
            pass
    for gone in past:
        policy = Policy.of(None)
        trim(gone.pk, policy, today, deadline)
        forget_if_over(gone, policy, today)


def mark_versions(today: date) -> None:
    """Note each cluster's version once a day, to know later how old its changes are."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO controlplane_versionmark (cluster_id, day, version) "
            "SELECT id, %s, resource_version FROM cluster_cluster "
            "ON CONFLICT (cluster_id, day) DO NOTHING",
            [today],
        )


def drop_partitions(today: date, policies: Iterable[Policy]) -> None:
    """Drop days that are empty, or too old for everybody, at one stroke."""
    limits = [policy.expired(today) for policy in policies]
    oldest = min((each for each in limits if each is not None), default=None)
    expired = None if None in limits else oldest
    for table in daily.TABLES:
        try:
            for name in daily.drop_days(table, expired):
                log.info("dropped %s", name)
        except OperationalError:
            # somebody reads the table for long (an export); the next run tries again
            log.warning("a day of %s could not be dropped now", table, exc_info=True)


def trim(cluster_id: int, policy: Policy, today: date, deadline: float) -> None:
    """Delete a cluster's rows that are too old or too many, and node tables nothing refers to."""
    expired = policy.expired(today)
    least = daily.first_id(expired) if expired else 0
    for table in daily.TABLES:
        most = policy.ledger_rows * (1 if table == LEDGER else ROWS_PER_DECISION)
        horizon = max(least, _first_of_the_newest(table, cluster_id, most))
        while time.monotonic() < deadline and _delete_below(table, cluster_id, horizon):
            pass
    _delete_node_tables(cluster_id)


def changelog_horizon(cluster: Cluster, policy: Policy, today: date) -> int:
    """Changes up to this version may be forgotten."""
    if not policy.changelog_days:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT max(version) FROM controlplane_versionmark WHERE cluster_id = %s AND day <= %s",
            [cluster.pk, today - timedelta(days=policy.changelog_days)],
        )
        row = cursor.fetchone()
    horizon = int(row[0] or 0) if row else 0
    if not policy.changelog_covers_ledger:
        return horizon
    oldest = SchedulingDecision.objects.filter(cluster_id=cluster.pk).order_by("id").first()
    if oldest is None:
        return horizon
    needed = read(oldest).seen.loaded_at or oldest.cluster_version
    return min(horizon, needed, oldest.cluster_version)


def forget_if_over(past: PastCluster, policy: Policy, today: date) -> None:
    """Forget a deleted cluster whose last decision has been, and that is as old itself."""
    expired = policy.expired(today)
    is_old = expired is not None and past.deleted_at.date() < expired
    if is_old and not SchedulingDecision.objects.filter(cluster_id=past.pk).exists():
        past_clusters.forget(past)
        log.info("forgot the deleted cluster %s", past.name)


def _first_of_the_newest(table: str, cluster_id: int, most: int) -> int:
    """The id from which on a cluster has `most` rows; 0 when it has no more, or may have any."""
    if not most:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE cluster_id = %s ORDER BY id DESC OFFSET %s LIMIT 1",
            [cluster_id, most - 1],
        )
        row = cursor.fetchone()
    return 0 if row is None else int(row[0])


def _delete_below(table: str, cluster_id: int, horizon: int) -> bool:
    """Delete some of a cluster's rows with smaller ids; False when there were none."""
    if not horizon:
        return False
    with daily.as_retention() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE cluster_id = %s AND id < %s ORDER BY id LIMIT %s",
            [cluster_id, horizon, STEP],
        )
        ids = [row[0] for row in cursor.fetchall()]
        # by ids alone PostgreSQL knows in which days they are
        cursor.execute(f"DELETE FROM {table} WHERE id = ANY(%s)", [ids])
    return bool(ids)


def _delete_node_tables(cluster_id: int) -> None:
    """Those that no decision refers to.

    The recorder holds a table until the rows that refer to it are there, and makes a missing one;
    so what can be locked is looked at once more before it goes.
    """
    unused = (
        "NOT EXISTS (SELECT FROM controlplane_schedulingdecision d WHERE d.node_table_id = n.id)"
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT n.id FROM controlplane_nodetable n WHERE n.cluster_id = %s AND {unused} "
            "ORDER BY n.id LIMIT %s FOR UPDATE SKIP LOCKED",
            [cluster_id, STEP],
        )
        ids = [row[0] for row in cursor.fetchall()]
        cursor.execute(
            f"DELETE FROM controlplane_nodetable n WHERE n.id = ANY(%s) AND {unused}", [ids]
        )
