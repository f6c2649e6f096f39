"""The fields outside profiles, which changed little between versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from legacy_plugins.conversion.written import Note, OldConfiguration

_LOCK_FIELDS: Final = {
    "lockObjectName": "resourceName",
    "lockObjectNamespace": "resourceNamespace",
}


def general_fields(old: OldConfiguration, note: Note) -> dict[str, Any]:
    """The v1 fields other than profiles that are set."""
    fields = {
        "parallelism": old.parallelism,
        "percentageOfNodesToScore": old.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": old.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": old.pod_max_backoff_seconds,
        "leaderElection": _leader_election(old.leader_election, note) or None,
        "clientConnection": old.client_connection,
        "enableProfiling": old.enable_profiling,
        "enableContentionProfiling": old.enable_contention_profiling,
        "delayCacheUntilActive": old.delay_cache_until_active,
        "extenders": old.extenders,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _leader_election(given: Mapping[str, Any], note: Note) -> dict[str, Any]:
    election = {name: value for name, value in given.items() if name not in _LOCK_FIELDS}
    for old, new in _LOCK_FIELDS.items():
        if given.get(old):
            election.setdefault(new, given[old])
    lock = election.get("resourceLock")
    if lock and lock != "leases":
        election["resourceLock"] = "leases"
        note(f"leaderElection.resourceLock {lock} is now leases, the only supported lock")
    return election
