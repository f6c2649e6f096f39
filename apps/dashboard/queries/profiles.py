"""What the pages of scheduler profiles show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.controlplane import queries
from apps.controlplane.models import ConfigurationRevision, SchedulingDecision
from apps.controlplane.profiles import revisions
from apps.controlplane.profiles.differences import ProfileDifferences, compare_configurations
from apps.dashboard.text_diff import TextDiff, text_diff
from apps.scheduler.config import EXTENSION_POINTS, Profile

#: Decisions named on the page of a revision.
MOST_RECENT = 10
#: Decisions counted there, so that an old ledger takes no longer than a young one.
MOST_COUNTED = 10_000
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
    """A plugin, the weight of its scores (None: it does not score) and where it takes part."""

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
    """A revision of the list, and how many decisions it made."""

    revision: ConfigurationRevision
    decisions: int


@dataclass(frozen=True, slots=True)
class OneProfile:
    """A revision, what it comes to, and what it decided."""

    revision: ConfigurationRevision
    profiles: Sequence[EffectiveProfile]
    #: (result, decisions), of its newest `MOST_COUNTED` ones
    results: Sequence[tuple[str, int]]
    #: those they were about
    pods: int
    recent: Sequence[SchedulingDecision]
    #: The revisions before and after it, where there are any.
    previous: int | None
    next: int | None
    extension_points: Sequence[str] = EXTENSION_POINTS

    @property
    def newest_counted(self) -> int:
        """How many of the newest were counted; 0 where that is all of them, as far as is known."""
        counted = sum(count for _, count in self.results)
        return counted if counted >= MOST_COUNTED else 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two revisions beside each other."""

    before: ConfigurationRevision
    after: ConfigurationRevision
    effects: Sequence[ProfileDifferences]
    text: TextDiff


def profile_list(cluster: Cluster) -> list[ProfileRow]:
    """All revisions, the newest first."""
    found = revisions.revisions_of(cluster)
    made = SchedulingDecision.objects.filter(cluster=cluster).order_by()
    counted = made.values_list("profile_revision").annotate(Count("pk"))
    counts: dict[int, int] = dict(counted)
    return [ProfileRow(each, counts.get(each.revision, 0)) for each in found]


def one_profile(cluster: Cluster, number: int) -> OneProfile:
    """A revision with its plugins; NotFound when there is none."""
    found = revision(cluster, number)
    configuration = revisions.load_configuration(found)
    made = queries.list_decisions(cluster, profile_revision=number)
    results, pods = _counted(cluster, number)
    others = ConfigurationRevision.objects.filter(cluster=cluster).values_list(
        "revision", flat=True
    )
    return OneProfile(
        found,
        [_effective(profile) for profile in configuration.profiles],
        results=results,
        pods=pods,
        recent=list(made[:MOST_RECENT]),
        previous=others.filter(revision__lt=number).order_by("-revision").first(),
        next=others.filter(revision__gt=number).order_by("revision").first(),
    )


def _counted(cluster: Cluster, revision: int) -> tuple[list[tuple[str, int]], int]:
    with connection.cursor() as cursor:
        cursor.execute(_RESULTS, [cluster.pk, revision, MOST_COUNTED])
        rows = cursor.fetchall()
    return [(result, count) for result, count, _ in rows], rows[0][2] if rows else 0


def revision(cluster: Cluster, number: int) -> ConfigurationRevision:
    """A revision; NotFound when there is none."""
    found = None
    if number < 2**31:
        found = ConfigurationRevision.objects.filter(cluster=cluster, revision=number).first()
    if found is None:
        raise NotFound("profiles", str(number))
    return found


def compare(cluster: Cluster, before: int, after: int) -> Comparison:
    """What one revision does differently from another, in effect and in its text."""
    old, new = revision(cluster, before), revision(cluster, after)
    return Comparison(
        old,
        new,
        compare_configurations(
            revisions.load_configuration(old), revisions.load_configuration(new)
        ),
        text_diff(old.configuration, new.configuration),
    )


def _effective(profile: Profile) -> EffectiveProfile:
    rows = [
        PluginRow(
            name,
            profile.score_weights.get(name),
            [name in profile.plugins.get(point, ()) for point in EXTENSION_POINTS],
        )
        for name in profile.plugin_names
    ]
    return EffectiveProfile(profile.scheduler_name, rows)
