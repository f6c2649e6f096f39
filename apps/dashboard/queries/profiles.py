"""The pages of configuration revisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Count

from apps.cluster.access.grants import AnyUser
from apps.cluster.models import Cluster
from apps.dashboard.text_diff import TextDiff, text_diff
from apps.engine import queries
from apps.engine.models import ConfigurationRevision, SchedulingDecision
from apps.engine.profiles import revisions
from apps.engine.profiles.configuration_differences import (
    ProfileDifferences,
    compare_configurations,
)
from apps.engine.profiles.private_keys import visible_to
from apps.scheduler.config import EXTENSION_POINTS, Cause, ConfigError, Profile
from apps.scheduler.config.warnings import find_warnings

#: Decisions listed on the page of a revision.
MAX_RECENT = 10
#: Newest decisions that are counted there, which bounds the time in a large ledger.
MAX_COUNTED = 10_000
_RESULTS = """
    WITH newest AS MATERIALIZED (
        SELECT result, pod_uid FROM controlplane_schedulingdecision
        WHERE cluster_id = %s AND profile_revision = %s ORDER BY id DESC LIMIT %s
    )
    SELECT result, count(*), (SELECT count(DISTINCT pod_uid) FROM newest) FROM newest
    GROUP BY result ORDER BY 2 DESC, 1
"""


@dataclass(frozen=True, slots=True)
class PluginRow:
    """A plugin, the weight of its scores (None: it does not score) and its extension points."""

    name: str
    weight: int | None
    #: One entry for each of EXTENSION_POINTS.
    points: Sequence[bool]


@dataclass(frozen=True, slots=True)
class EffectiveProfile:
    """One profile of a configuration as the scheduler runs it."""

    scheduler_name: str
    plugins: Sequence[PluginRow]


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """A revision of the list, and the number of its decisions."""

    revision: ConfigurationRevision
    decisions: int


@dataclass(frozen=True, slots=True)
class OneProfile:
    """A revision, its effective profiles, and its decisions."""

    revision: ConfigurationRevision
    profiles: Sequence[EffectiveProfile]
    #: (result, decisions), of its newest `MAX_COUNTED` ones
    results: Sequence[tuple[str, int]]
    #: number of different pods of these decisions
    pods: int
    recent: Sequence[SchedulingDecision]
    #: The revisions before and after it; None if there is none.
    previous: int | None
    next: int | None
    extension_points: Sequence[str] = EXTENSION_POINTS

    @property
    def newest_counted(self) -> int:
        """The number of decisions counted, if there may be more; else 0."""
        counted = sum(count for _, count in self.results)
        return counted if counted >= MAX_COUNTED else 0


@dataclass(frozen=True, slots=True)
class RevisionComparison:
    """Two revisions and their differences."""

    before: ConfigurationRevision
    after: ConfigurationRevision
    effects: Sequence[ProfileDifferences]
    text: TextDiff


def profile_list(cluster: Cluster) -> list[ProfileRow]:
    """All revisions, the newest first."""
    all_revisions = revisions.revisions_of(cluster)
    decisions = SchedulingDecision.objects.filter(cluster=cluster).order_by()
    counted = decisions.values_list("profile_revision").annotate(Count("pk"))
    counts: dict[int, int] = dict(counted)
    return [ProfileRow(each, counts.get(each.revision, 0)) for each in all_revisions]


def one_profile(cluster: Cluster, number: int) -> OneProfile:
    """A revision with its plugins; NotFound if there is none."""
    revision = revisions.get_revision(cluster, number)
    configuration = revisions.load_configuration(revision)
    decisions = queries.list_decisions(cluster, profile_revision=number)
    results, pods = _count_results(cluster, number)
    others = ConfigurationRevision.objects.filter(cluster=cluster).values_list(
        "revision", flat=True
    )
    return OneProfile(
        revision,
        [_describe_profile(profile) for profile in configuration.profiles],
        results=results,
        pods=pods,
        recent=list(decisions[:MAX_RECENT]),
        previous=others.filter(revision__lt=number).order_by("-revision").first(),
        next=others.filter(revision__gt=number).order_by("revision").first(),
    )


def _count_results(cluster: Cluster, revision: int) -> tuple[list[tuple[str, int]], int]:
    with connection.cursor() as cursor:
        cursor.execute(_RESULTS, [cluster.pk, revision, MAX_COUNTED])
        rows = cursor.fetchall()
    return [(result, count) for result, count, _ in rows], rows[0][2] if rows else 0


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A configuration that is not saved yet: its faults, or what it would change."""

    causes: Sequence[Cause]
    #: compared with the active revision; empty if the text has faults
    effects: Sequence[ProfileDifferences] = ()
    #: pending pods that no profile would schedule, by schedulerName
    stranded: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()


def check_text(
    cluster: Cluster, text: str, *, active: ConfigurationRevision, legacy: bool
) -> CheckedText:
    """Check a text, and compare its effects with those of the active revision."""
    try:
        configuration = revisions.check(text, legacy=legacy)
    except ConfigError as refusal:
        return CheckedText(refusal.causes)
    before = revisions.load_configuration(active)
    effects = compare_configurations(before, configuration)
    stranded = queries.count_stranded_pods(cluster, configuration)
    return CheckedText((), effects, stranded, find_warnings(configuration))


def compare(cluster: Cluster, before: int, after: int, *, reader: AnyUser) -> RevisionComparison:
    """The differences between two revisions: of their effective profiles, and of their texts."""
    old, new = revisions.get_revision(cluster, before), revisions.get_revision(cluster, after)
    return RevisionComparison(
        old,
        new,
        compare_configurations(
            revisions.load_configuration(old), revisions.load_configuration(new)
        ),
        text_diff(*(visible_to(reader, cluster.pk, each.configuration) for each in (old, new))),
    )


def _describe_profile(profile: Profile) -> EffectiveProfile:
    rows = [
        PluginRow(
            name,
            profile.score_weights.get(name),
            [name in profile.plugins.get(point, ()) for point in EXTENSION_POINTS],
        )
        for name in profile.plugin_names
    ]
    return EffectiveProfile(profile.scheduler_name, rows)
