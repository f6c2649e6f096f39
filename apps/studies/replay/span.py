"""What is replayed: a span of versions, with its recorded decisions and changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.log.changelog import LoggedChange, changes_after
from apps.cluster.models import Cluster, HistoricChange
from apps.engine.models import SchedulingDecision
from apps.studies.lab.configurations import LabConfiguration, choose_configuration
from apps.studies.past.past_version import PastVersion, parse_version_or_time, read_life

_BATCH: Final = 500
#: When each pod was bound and has finished, by the change log.
_TIMES: Final = """
    SELECT uid::text, min(at) FILTER (WHERE "object" #>> '{spec,nodeName}' <> ''),
        min(at) FILTER (WHERE "object" #>> '{status,phase}' IN ('Succeeded', 'Failed'))
    FROM cluster_history WHERE cluster_id = %s AND version > %s AND version <= %s AND kind = 'Pod'
    GROUP BY uid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What to replay, and under what; nothing else but the moments: unchanged."""

    #: a version or a time each; the first retained moment, also for a time before the first change,
    #: and now, without them
    since: str = ""
    until: str = ""
    #: of times without an offset
    zone: str = ""
    #: a KubeSchedulerConfiguration; or the number of a revision; the recorded one without either
    configuration: str = ""
    revision: int | None = None
    feature_gates: Mapping[str, bool] | None = None
    #: of the draws among equal nodes; None: they fall as recorded
    seed: int | None = None

    @property
    def changes_configuration(self) -> bool:
        return bool(self.configuration or self.feature_gates) or self.revision is not None

    @property
    def is_unchanged(self) -> bool:
        return not self.changes_configuration and self.seed is None


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a cluster's life that can be replayed."""

    cluster: Cluster
    since: PastVersion
    until: PastVersion
    #: None: the recorded ones
    configuration: LabConfiguration | None
    #: the recorded decisions in the order in which they were made: (version, time, id)
    decisions: list[tuple[int, datetime, int]]

    def rows(self, start: int = 0) -> Iterator[SchedulingDecision]:
        """The recorded decisions from one on, in order."""
        ids = [number for _, _, number in self.decisions[start:]]
        for first in range(0, len(ids), _BATCH):
            batch = ids[first : first + _BATCH]
            decisions = SchedulingDecision.objects.in_bulk(batch)
            for number in batch:
                if number in decisions:
                    yield decisions[number]

    def changes(self, after: int) -> Iterator[LoggedChange]:
        """The changes after a version, to the end of the span."""
        while after < self.until.version:
            batch = changes_after(self.cluster.pk, after, limit=_BATCH)
            for change in batch:
                if change.version > self.until.version:
                    return
                yield change
            if len(batch) < _BATCH:
                return
            after = batch[-1].version

    def read_times(self) -> dict[str, tuple[datetime | None, datetime | None]]:
        """When each pod with a change in the span was bound there, and has finished; by uid."""
        with connection.cursor() as cursor:
            values = [self.cluster.pk, self.since.version, self.until.version]
            cursor.execute(_TIMES, values)
            return {uid: (bound, finished) for uid, bound, finished in cursor.fetchall()}


def find_span(cluster: Cluster, request: ReplayRequest) -> Span:
    """The span that a request names.

    Raises BadRequest for a moment, or if nothing has happened in the span; Expired if the change
    log no longer reaches back to it; NotFound for an unknown revision; ConfigError for a
    configuration, or an unknown feature gate.
    """
    life = read_life(cluster)
    query: dict[str, Any] = {"since": request.since, "until": request.until, "zone": request.zone}
    since = life.first
    if request.since:
        since = parse_version_or_time(cluster, query, "since", starts=True)
    until = parse_version_or_time(cluster, query, "until") if request.until else life.now
    if until.version < since.version:
        raise BadRequest("until: must not be before since")
    configuration = None
    if request.changes_configuration:
        configuration = choose_configuration(
            cluster,
            text=request.configuration,
            revision=request.revision,
            feature_gates=request.feature_gates,
        )
    changes = HistoricChange.objects.filter(
        cluster=cluster, version__gt=since.version, version__lte=until.version
    )
    if not changes.exists():
        raise BadRequest("since: nothing has changed from this moment to the end of the span")
    rows = SchedulingDecision.objects.filter(
        cluster=cluster, cluster_version__gte=since.version, cluster_version__lte=until.version
    )
    decisions = list(
        rows.order_by("cluster_version", "sequence", "id").values_list(
            "cluster_version", "at", "id"
        )[: limits.REPLAYED_DECISIONS.highest + 1]
    )
    if not decisions:
        raise BadRequest("since: the span has no decisions of this cluster's scheduler")
    if not limits.REPLAYED_DECISIONS.admits(len(decisions)):
        most = limits.REPLAYED_DECISIONS.highest
        raise BadRequest(f"since: the span has more than {most:,} decisions")
    return Span(cluster, since, until, configuration, decisions)
