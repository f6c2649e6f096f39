"""Upstream's second kind of default: fields for which an empty value counts as absent."""

from __future__ import annotations

from dataclasses import replace

from apps.scheduler.config.types import (
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    Extender,
    LeaderElection,
    WrittenConfiguration,
    WrittenProfile,
)


def with_defaults(written: WrittenConfiguration) -> WrittenConfiguration:
    """`written` with empty values defaulted, and a profile if it has none."""
    profiles = written.profiles or (WrittenProfile(),)
    # Each of several profiles must have a name; validation refuses profiles without one.
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = written.enable_contention_profiling
    return replace(
        written,
        profiles=profiles,
        leader_election=_leader_election(written.leader_election),
        client_connection=_client_connection(written.client_connection),
        extenders=tuple(_extender(extender) for extender in written.extenders),
        enable_contention_profiling=written.enable_profiling if contention is None else contention,
    )


def _leader_election(given: LeaderElection) -> LeaderElection:
    default = LeaderElection()
    return replace(
        given,
        lease_duration=given.lease_duration or default.lease_duration,
        renew_deadline=given.renew_deadline or default.renew_deadline,
        retry_period=given.retry_period or default.retry_period,
        resource_lock=given.resource_lock or default.resource_lock,
        resource_name=given.resource_name or default.resource_name,
        resource_namespace=given.resource_namespace or default.resource_namespace,
    )


def _client_connection(given: ClientConnection) -> ClientConnection:
    default = ClientConnection()
    return replace(
        given,
        content_type=given.content_type or default.content_type,
        qps=given.qps or default.qps,
        burst=given.burst or default.burst,
    )


def _extender(given: Extender) -> Extender:
    return replace(given, http_timeout=given.http_timeout or Extender().http_timeout)
