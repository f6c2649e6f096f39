"""The validation of a configuration as in kube-scheduler, except for arguments of plugins."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from apps.scheduler.config.errors import Problems, child, format_value
from apps.scheduler.config.expansion import plugin_set
from apps.scheduler.config.types import (
    API_VERSION,
    EXTENSION_POINTS,
    ClientConnection,
    Extender,
    LeaderElection,
    PluginSet,
    WrittenConfiguration,
    WrittenProfile,
)
from apps.scheduler.labels.validity import is_extended_resource_name, qualified_name_faults

#: The plugins that v1 no longer has, and names so instead of saying that they do not exist.
REMOVED_PLUGINS: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_SAME_QUEUE_SORT: Final = "must be the same for all profiles"
_REMOVED: Final = (
    f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
)


def validate(
    written: WrittenConfiguration, problems: Problems, *, removed: Collection[str]
) -> None:
    """Check a defaulted configuration; `removed` are names of plugins to refuse as such."""
    _check_client_connection(written.client_connection, problems)
    _check_leader_election(written.leader_election, problems)
    if written.parallelism <= 0:
        problems.invalid(
            "parallelism", written.parallelism, "should be an integer value greater than zero"
        )
    for index, profile in enumerate(written.profiles):
        _check_profile(profile, f"profiles[{index}]", problems, removed)
    _check_names(written.profiles, problems)
    _check_common_queue_sort(written.profiles, problems)
    _check_percentage(written.percentage_of_nodes_to_score, "percentageOfNodesToScore", problems)
    _check_backoff(written, problems)
    _check_extenders(written.extenders, problems)


def _check_client_connection(connection: ClientConnection, problems: Problems) -> None:
    if connection.burst < 0:
        problems.invalid("clientConnection.burst", connection.burst, "must be non-negative")


def _check_leader_election(election: LeaderElection, problems: Problems) -> None:
    if not election.leader_elect:
        return
    for name, seconds in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if seconds <= 0:
            problems.invalid(f"leaderElection.{name}", f"{seconds:g}s", "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        problems.invalid(
            "leaderElection.leaseDuration",
            f"{election.lease_duration:g}s",
            "must be greater than `RenewDeadline`",
        )
    if election.resource_lock != "leases":
        problems.invalid(
            "leaderElection.resourceLock",
            election.resource_lock,
            'resourceLock value must be "leases"',
        )


def _check_profile(
    profile: WrittenProfile, path: str, problems: Problems, removed: Collection[str]
) -> None:
    if not profile.scheduler_name:
        problems.required(child(path, "schedulerName"))
    _check_percentage(
        profile.percentage_of_nodes_to_score, child(path, "percentageOfNodesToScore"), problems
    )
    for point in (*EXTENSION_POINTS, "multiPoint"):
        at = f"{path}.plugins.{point}.enabled"
        _check_removed_plugins(plugin_set(profile.plugins, point), at, problems, removed)
    _check_placement_points(profile, child(path, "plugins"), problems)
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        at = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            problems.duplicate(at, config.name)
        seen.add(config.name)
        if config.name in removed:
            problems.invalid(at, config.name, _REMOVED)


def _check_removed_plugins(
    written: PluginSet, path: str, problems: Problems, removed: Collection[str]
) -> None:
    for index, plugin in enumerate(written.enabled):
        if plugin.name in removed:
            problems.invalid(f"{path}[{index}]", plugin.name, _REMOVED)


def _check_placement_points(profile: WrittenProfile, path: str, problems: Problems) -> None:
    """Placement of groups of pods requires TopologyAwareWorkloadScheduling, off in 1.36."""
    for name, written in (
        ("placementGenerate", profile.plugins.placement_generate),
        ("placementScore", profile.plugins.placement_score),
    ):
        for index, plugin in enumerate(written.enabled):
            problems.add(
                f"{path}.{name}.enabled[{index}]",
                f"{name[0].upper()}{name[1:]}Plugin {format_value(plugin.name)} does not exist",
            )


def _check_names(profiles: tuple[WrittenProfile, ...], problems: Problems) -> None:
    seen: set[str] = set()
    for index, profile in enumerate(profiles):
        name = profile.scheduler_name or ""
        if name in seen:
            problems.duplicate(f"profiles[{index}].schedulerName", name)
        seen.add(name)


def _check_percentage(percentage: int | None, path: str, problems: Problems) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        problems.invalid(path, percentage, "not in valid range [0-100]")


def _check_common_queue_sort(profiles: tuple[WrittenProfile, ...], problems: Problems) -> None:
    """All profiles share one queue, so they must sort it in the same way."""
    canon = profiles[0].plugins.queue_sort
    sort = canon.enabled[0].name if canon.enabled else ""
    if len(canon.enabled) > 1:
        problems.invalid(
            "profiles[0].plugins.queueSort.enabled",
            len(canon.enabled),
            "only one queue sort plugin can be enabled",
        )
    for index, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != canon:
            problems.invalid(
                f"profiles[{index}].plugins.queueSort",
                _format_set(profile.plugins.queue_sort),
                _SAME_QUEUE_SORT,
            )
        if sort and _args_of(profile, sort) != _args_of(profiles[0], sort):
            problems.invalid(
                f"profiles[{index}].pluginConfig.args",
                _args_of(profile, sort),
                f"queueSort {_SAME_QUEUE_SORT}",
            )


def _args_of(profile: WrittenProfile, plugin: str) -> Any:
    return next((config.args for config in profile.plugin_config if config.name == plugin), None)


def _format_set(written: PluginSet) -> dict[str, list[str]]:
    return {
        "enabled": [plugin.name for plugin in written.enabled],
        "disabled": [plugin.name for plugin in written.disabled],
    }


def _check_backoff(written: WrittenConfiguration, problems: Problems) -> None:
    initial, maximum = written.pod_initial_backoff_seconds, written.pod_max_backoff_seconds
    if initial <= 0:
        problems.invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if maximum < initial:
        problems.invalid(
            "podMaxBackoffSeconds",
            maximum,
            "must be greater than or equal to PodInitialBackoffSeconds",
        )


def _check_extenders(extenders: tuple[Extender, ...], problems: Problems) -> None:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            problems.invalid(
                f"{path}.weight", extender.weight, "must have a positive weight applied to it"
            )
        _check_managed_resources(extender, f"{path}.managedResources", managed, problems)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        problems.invalid(
            "extenders",
            f"found {binders} extenders implementing bind",
            "only one extender can implement bind",
        )


def _check_managed_resources(
    extender: Extender, path: str, managed: set[str], problems: Problems
) -> None:
    """A resource is managed by one extender only; `managed` collects those seen so far."""
    for index, resource in enumerate(extender.managed_resources):
        at = f"{path}[{index}].name"
        faults = qualified_name_faults(resource.name)
        for fault in faults:
            problems.invalid(at, resource.name, fault)
        if not faults and not is_extended_resource_name(resource.name):
            problems.invalid(at, resource.name, "is an invalid extended resource name")
        if resource.name in managed:
            problems.invalid(at, resource.name, "duplicate extender managed resource name")
        managed.add(resource.name)
