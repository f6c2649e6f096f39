"""Retention: deletes history beyond a maximum age and a maximum number of rows per cluster.

Age is counted in days of the database's clock, because rows are recorded by it. A cluster's own
clock does not matter: it may be set a year ahead while the cluster's decisions are a minute old.
Each run does a bounded amount of work; the next run continues.
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
from apps.cluster.partitions import daily
from apps.engine import opinions
from apps.engine.ledger.reading import read
from apps.engine.models import GroupAttempt, PastCluster, SchedulingDecision
from apps.studies.history import past_clusters

log = logging.getLogger(__name__)

LEDGER = SchedulingDecision._meta.db_table
#: Row limit of the other recorded tables, per decision that may be retained.
ROWS_PER_DECISION = 10
#: Maximum number of rows deleted in one transaction, and the time limit of a run.
STEP = 2000
RUN_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long the history of a cluster is retained; 0 = no limit."""

    ledger_days: int
    ledger_rows: int
    changelog_days: int
    #: Retain the changes that are needed to rebuild the state of any retained decision.
    changelog_covers_ledger: bool

    @classmethod
    def of(cls, cluster: Cluster | None) -> RetentionPolicy:
        """The cluster's settings, with the site's as defaults; None = a deleted cluster."""

        def setting(name: str) -> int:
            own = getattr(cluster, name, None)
            return int(settings.RETENTION[name] if own is None else own)

        return cls(
            setting("ledger_max_days"),
            setting("ledger_max_decisions"),
            setting("changelog_max_days"),
            bool(setting("changelog_covers_ledger")),
        )

    def oldest_day(self, today: date) -> date | None:
        """The first day whose decisions are retained; None = no age limit."""
        return today - timedelta(days=self.ledger_days) if self.ledger_days else None


def run(seconds: float = RUN_SECONDS) -> None:
    """Delete expired history; stops after about `seconds`."""
    deadline = time.monotonic() + seconds
    today = daily.today()
    clusters = list(Cluster.objects.order_by("pk"))
    past = list(PastCluster.objects.order_by("pk"))
    mark_versions(today)
    policies = [RetentionPolicy.of(cluster) for cluster in clusters]
    drop_partitions(today, [*policies, RetentionPolicy.of(None)] if past else policies)
    for cluster in clusters:
        policy = RetentionPolicy.of(cluster)
        trim(cluster.pk, policy, today, deadline)
        opinions.trim(cluster, policy.oldest_day(today), policy.ledger_rows)
        while time.monotonic() < deadline and forget_changes(
            cluster.pk, find_changelog_horizon(cluster, policy, today)
        ):
            pass
    for deleted in past:
        policy = RetentionPolicy.of(None)
        trim(deleted.pk, policy, today, deadline)
        delete_if_expired(deleted, policy, today)


def mark_versions(today: date) -> None:
    """Record each cluster's version once a day, so that the age of its changes is known."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO controlplane_versionmark (cluster_id, day, version) "
            "SELECT id, %s, resource_version FROM cluster_cluster "
            "ON CONFLICT (cluster_id, day) DO NOTHING",
            [today],
        )


def drop_partitions(today: date, policies: Iterable[RetentionPolicy]) -> None:
    """Drop the partitions of days that are empty, or expired for every policy."""
    limits = [policy.oldest_day(today) for policy in policies]
    oldest = min((each for each in limits if each is not None), default=None)
    expired = None if None in limits else oldest
    for table in daily.TABLES:
        try:
            for name in daily.drop_days(table, expired):
                log.info("partition %s dropped", name)
        except OperationalError:
            # a long read, such as an export, holds a lock on the table; the next run tries again
            log.warning("could not drop a partition of %s; will retry", table, exc_info=True)


def trim(cluster_id: int, policy: RetentionPolicy, today: date, deadline: float) -> None:
    """Delete a cluster's expired and excess rows, and its unreferenced node tables."""
    oldest = policy.oldest_day(today)
    least = daily.first_id(oldest) if oldest else 0
    for table in daily.TABLES:
        most = policy.ledger_rows * (1 if table == LEDGER else ROWS_PER_DECISION)
        horizon = max(least, _find_first_retained_id(table, cluster_id, most))
        while time.monotonic() < deadline and _delete_below(table, cluster_id, horizon):
            pass
    _delete_group_attempts(cluster_id)
    _delete_node_tables(cluster_id)


def find_changelog_horizon(cluster: Cluster, policy: RetentionPolicy, today: date) -> int:
    """The version up to which changes may be deleted; 0 = none."""
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


def delete_if_expired(past: PastCluster, policy: RetentionPolicy, today: date) -> None:
    """Delete a deleted cluster's history once it has expired and no decision is left."""
    oldest = policy.oldest_day(today)
    is_expired = oldest is not None and past.deleted_at.date() < oldest
    if is_expired and not SchedulingDecision.objects.filter(cluster_id=past.pk).exists():
        past_clusters.delete_past_cluster(past)
        log.info("history of deleted cluster %s deleted", past.name)


def _find_first_retained_id(table: str, cluster_id: int, most: int) -> int:
    """The smallest id among a cluster's newest `most` rows; 0 = fewer rows, or no limit."""
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
    """Delete up to STEP rows of a cluster with ids below `horizon`; False = there are none."""
    if not horizon:
        return False
    with daily.as_retention() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE cluster_id = %s AND id < %s ORDER BY id LIMIT %s",
            [cluster_id, horizon, STEP],
        )
        ids = [row[0] for row in cursor.fetchall()]
        # with ids alone, PostgreSQL prunes to the partitions that hold them
        cursor.execute(f"DELETE FROM {table} WHERE id = ANY(%s)", [ids])
    return bool(ids)


def _delete_group_attempts(cluster_id: int) -> None:
    """Delete the attempts with groups that are older than the oldest decision."""
    decisions = SchedulingDecision.objects.filter(cluster_id=cluster_id).order_by("id")
    oldest = decisions.values_list("cluster_version", flat=True).first()
    attempts = GroupAttempt.objects.filter(cluster_id=cluster_id)
    if oldest is not None:
        attempts = attempts.filter(cluster_version__lt=oldest)
    attempts.delete()


def _delete_node_tables(cluster_id: int) -> None:
    """Delete up to STEP node tables that no decision refers to.

    The recorder locks a table until the rows that refer to it are committed, and creates a missing
    one. Rows that can be locked here are therefore checked again before they are deleted.
    """
    # one index-only scan of the cluster's decisions
    unused = (
        "NOT EXISTS (SELECT FROM controlplane_schedulingdecision d "
        "WHERE d.cluster_id = %s AND d.node_table_id = n.id)"
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT n.id FROM controlplane_nodetable n WHERE n.cluster_id = %s AND {unused} "
            "ORDER BY n.id LIMIT %s FOR UPDATE SKIP LOCKED",
            [cluster_id, cluster_id, STEP],
        )
        ids = [row[0] for row in cursor.fetchall()]
        if ids:
            cursor.execute(
                f"DELETE FROM controlplane_nodetable n WHERE n.id = ANY(%s) AND {unused}",
                [ids, cluster_id],
            )
