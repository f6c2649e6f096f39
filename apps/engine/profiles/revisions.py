"""The revisions of a cluster's scheduler configuration."""

from __future__ import annotations

from functools import lru_cache

from django.db import transaction
from django.db.models import Max, QuerySet

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.cluster.validation.gates import API_GATES
from apps.engine.models import ConfigurationRevision
from apps.engine.profiles import plugins
from apps.engine.profiles.names import check_name, invalid_name
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.engine.workers.waking import make_due
from apps.people.audit.recording import record
from apps.people.models import AuditEntry
from apps.scheduler.clock import RealClock
from apps.scheduler.config import Cause, ConfigError, Configuration, find_faults, load, warnings
from apps.scheduler.config.loading import CONVERT_FIRST
from apps.scheduler.extenders.http import ExtenderConfigError
from apps.scheduler.framework.profile_plugins import PluginError

#: Of a new cluster for which none is given: every decision shows every node.
ALL_NODES = 100
#: The configuration of a new cluster: the default plugins.
BUILT_IN = f"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: {ALL_NODES}
profiles:
- schedulerName: default-scheduler
"""


#: The ways to convert a configuration, in place of the core's advice to do so.
_CONVERT_WITH = (
    "convert older ones first: POST /api/v1/clusters/{cluster}/configurations/convert, the button "
    "of the profile editor, or manage.py convert_config"
)


def add_built_in(
    cluster: Cluster, *, user: str, percentage_of_nodes_to_score: int = ALL_NODES
) -> ConfigurationRevision:
    """The first revision of a new cluster; a percentage of 0 is adaptive, as kube-scheduler's."""
    text = BUILT_IN.replace(f": {ALL_NODES}\n", f": {percentage_of_nodes_to_score}\n")
    return add_revision(cluster, text, user=user, note="built in")


def add_revision(
    cluster: Cluster,
    text: str,
    *,
    user: str,
    name: str = "",
    note: str = "",
    legacy: bool = False,
    active: bool = True,
) -> ConfigurationRevision:
    """Validate a configuration and store it as the next revision; with `active`, activate it.

    Raises `apps.scheduler.config.ConfigError` with all causes when it is invalid, and
    `apps.cluster.errors.Invalid` for its name. The loop uses an active revision from its next pod
    on, and retries every pod that an earlier revision rejected.
    """
    check(text, legacy=legacy)
    with transaction.atomic():
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        earlier = ConfigurationRevision.objects.filter(cluster=cluster)
        _check_name(cluster, name)
        last = earlier.aggregate(last=Max("revision"))["last"] or 0
        if active:
            earlier.filter(active=True).update(active=False)
        added = ConfigurationRevision.objects.create(
            cluster=cluster,
            revision=last + 1,
            configuration=text,
            legacy=legacy,
            active=active,
            name=name,
            note=note,
            user=user,
        )
        if active:
            _put_in_effect(cluster, added)
            if last:
                _record_activation(cluster, added, user)
    return added


def _record_activation(
    cluster: Cluster, revision: ConfigurationRevision, user: str | None = None
) -> None:
    record(
        AuditEntry.Action.CONFIGURATION_ACTIVATED,
        user=user,
        cluster=cluster.name,
        target=f"revision {revision.revision}",
        details={"name": revision.name},
    )


def rename(
    cluster: Cluster, number: int, *, name: str | None = None, note: str | None = None
) -> ConfigurationRevision:
    """Set the name and the note of a revision; None leaves one unchanged.

    Raises NotFound, and Invalid for the name.
    """
    with transaction.atomic():
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        revision = get_revision(cluster, number)
        if name is not None and name != revision.name:
            _check_name(cluster, name)
            revision.name = name
        if note is not None:
            revision.note = note
        revision.save(update_fields=["name", "note"])
    return revision


def _check_name(cluster: Cluster, name: str) -> None:
    if name:
        check_name(name)
        taken = ConfigurationRevision.objects.filter(cluster=cluster, name=name).first()
        if taken is not None:
            raise invalid_name(name, f"revision {taken.revision} already has this name")


def check(text: str, *, legacy: bool = False) -> Configuration:
    """The typed configuration of a text with which a scheduler can be built.

    Raises ConfigError with the causes of all stages.
    """
    known = plugins.known_plugins()
    try:
        configuration = load(text, known, legacy=legacy)
    except ConfigError as refusal:
        # the decoder stops at the first stage with faults; a person wants those of all stages
        causes = find_faults(text, known, legacy=legacy) or refusal.causes
        raise ConfigError([_say_where(cause) for cause in causes]) from refusal
    try:
        assemble_scheduler(configuration, clock=RealClock()).close()
    except PluginError as problem:
        raise ConfigError([Cause("profiles", str(problem))]) from problem
    except ExtenderConfigError as problem:
        raise ConfigError([Cause(problem.field, str(problem))]) from problem
    return configuration


def _say_where(cause: Cause) -> Cause:
    """A cause about an older version, with the ways to convert it."""
    return cause._replace(message=cause.message.replace(CONVERT_FIRST, _CONVERT_WITH))


def find_warnings(revision: ConfigurationRevision) -> list[str]:
    """What is allowed in a revision and probably not wanted.

    Empty for one that cannot be loaded any more, as one of its plugins is not installed.
    """
    try:
        return warnings.find_warnings(load_configuration(revision))
    except ConfigError:
        return []


def activate(cluster: Cluster, number: int) -> ConfigurationRevision:
    """Activate an existing revision; raises NotFound."""
    with transaction.atomic():
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        revision = get_revision(cluster, number)
        ConfigurationRevision.objects.filter(cluster=cluster, active=True).update(active=False)
        revision.active = True
        revision.save(update_fields=["active"])
        _put_in_effect(cluster, revision)
        _record_activation(cluster, revision)
    return revision


def _put_in_effect(cluster: Cluster, revision: ConfigurationRevision) -> None:
    """Turn on the gates of the API server, and let the loop read the revision."""
    gates = load_configuration(revision).gates
    cluster.api_gates = [name for name in API_GATES if gates.enabled(name)]
    cluster.save(update_fields=["api_gates"])
    make_due(cluster.pk)


def get_revision(cluster: Cluster, number: int) -> ConfigurationRevision:
    """A revision; raises NotFound if there is none."""
    revision = None
    if number < 2**31:
        revision = ConfigurationRevision.objects.filter(cluster=cluster, revision=number).first()
    if revision is None:
        raise NotFound("profiles", str(number))
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
