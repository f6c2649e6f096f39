"""What the pages of scheduler profiles show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.controlplane import profiles
from apps.controlplane.models import SchedulerProfile
from apps.scheduler.config import EXTENSION_POINTS, Profile


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
class OneProfile:
    """A revision, and what it comes to."""

    revision: SchedulerProfile
    profiles: Sequence[EffectiveProfile]
    extension_points: Sequence[str] = EXTENSION_POINTS


def profile_list(cluster: Cluster) -> list[SchedulerProfile]:
    """All revisions, the newest first."""
    return list(SchedulerProfile.objects.filter(cluster=cluster).order_by("-revision"))


def one_profile(cluster: Cluster, revision: int) -> OneProfile:
    """A revision with its plugins; NotFound when there is none."""
    found = SchedulerProfile.objects.filter(cluster=cluster, revision=revision).first()
    if found is None:
        raise NotFound("profiles", str(revision))
    configuration = profiles.configuration(found)
    return OneProfile(found, [_effective(profile) for profile in configuration.profiles])


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
