"""The revisions of a cluster's scheduler configuration."""

from __future__ import annotations

from functools import lru_cache

from django.db import transaction
from django.db.models import Max, QuerySet

from apps.cluster.models import Cluster
from apps.controlplane.models import ConfigurationRevision
from apps.controlplane.profiles import plugins
from apps.controlplane.workers.waking import make_due
from apps.scheduler.clock import RealClock
from apps.scheduler.config import Cause, ConfigError, Configuration, load
from apps.scheduler.extenders.http import ExtenderConfigError
from apps.scheduler.framework.profile_plugins import PluginError
from apps.scheduler.scheduler import Scheduler

#: A new cluster's configuration: the default plugins, and all nodes scored.
BUILT_IN = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
profiles:
- schedulerName: default-scheduler
"""


def add_built_in(cluster: Cluster, *, user: str) -> ConfigurationRevision:
    """The first revision of a new cluster."""
    return add_revision(cluster, BUILT_IN, user=user, note="built in")


def add_revision(
    cluster: Cluster, text: str, *, user: str, note: str = "", legacy: bool = False
) -> ConfigurationRevision:
    """Validate a configuration, store it as the next revision and activate it.

    Raises `apps.scheduler.config.ConfigError` with all causes when it is invalid. The loop uses
    the revision from its next pod on, and retries every pod that an earlier revision rejected.
    """
    check(text, legacy=legacy)
    with transaction.atomic():
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        earlier = ConfigurationRevision.objects.filter(cluster=cluster)
        last = earlier.aggregate(last=Max("revision"))["last"] or 0
        earlier.filter(active=True).update(active=False)
        added = ConfigurationRevision.objects.create(
            cluster=cluster,
            revision=last + 1,
            configuration=text,
            legacy=legacy,
            active=True,
            note=note,
            user=user,
        )
        make_due(cluster.pk)
    return added


def check(text: str, *, legacy: bool = False) -> Configuration:
    """The typed configuration of a text with which a scheduler can be built; else ConfigError."""
    configuration = load(text, plugins.known_plugins(), legacy=legacy)
    try:
        Scheduler(configuration, clock=RealClock(), registry=plugins.registry()).close()
    except PluginError as problem:
        raise ConfigError([Cause("profiles", str(problem))]) from problem
    except ExtenderConfigError as problem:
        raise ConfigError([Cause(problem.field, str(problem))]) from problem
    return configuration


def activate(cluster: Cluster, number: int) -> ConfigurationRevision:
    """Activate an existing revision; raises ConfigurationRevision.DoesNotExist."""
    with transaction.atomic():
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        revision = ConfigurationRevision.objects.get(cluster=cluster, revision=number)
        ConfigurationRevision.objects.filter(cluster=cluster, active=True).update(active=False)
        revision.active = True
        revision.save(update_fields=["active"])
        make_due(cluster.pk)
    return revision


def revisions_of(cluster: Cluster) -> QuerySet[ConfigurationRevision]:
    """All revisions of a cluster, the newest first."""
    return ConfigurationRevision.objects.filter(cluster=cluster).order_by("-revision")


def get_active(cluster: Cluster) -> ConfigurationRevision:
    """The revision the loop schedules with."""
    return ConfigurationRevision.objects.get(cluster=cluster, active=True)


def load_configuration(revision: ConfigurationRevision) -> Configuration:
    """The typed configuration of a revision."""
    return _load(revision.configuration, revision.legacy)


@lru_cache(maxsize=256)
def _load(text: str, legacy: bool) -> Configuration:
    return load(text, plugins.known_plugins(), legacy=legacy)
