"""One run: clusters get pods while processes are killed; then all invariants must hold."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
import yaml

from tests.faults.invariants import NOWHERE, find_violations, list_pods
from tests.faults.load import Poster, Watcher
from tests.stack.running_site import RunningSite

#: Longer than any single fault delays the site, on a busy machine.
QUIET_SECONDS = 300.0

_LEFT = f"""
    SELECT (SELECT count(*) FROM cluster_pod p WHERE p.cluster_id = c.id AND p.node_name = ''
            AND (NOT p.labels ? '{NOWHERE}' OR NOT EXISTS (
                SELECT FROM controlplane_queueentry q WHERE q.cluster_id = c.id
                AND q.pod_uid = p.uid AND q.attempts > 0)))
        + (c.resource_version - l.consumed_version)
    FROM cluster_cluster c JOIN controlplane_looplease l ON l.cluster_id = c.id
    WHERE c.name = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: figures to print, and all errors."""

    pods: int
    seconds: float
    failures: Counter[str]
    reconnects: int
    errors: list[str]


def read_token(site: RunningSite) -> str:
    config = yaml.safe_load(site.manage("kubeconfig", "demo", "--user", "admin"))
    return str(config["users"][0]["user"]["token"])


def run(
    site: RunningSite,
    token: str,
    clusters: dict[str, int],
    strike: Callable[[Callable[[], float]], None],
    *,
    seed: int,
    settle: Callable[[], None] = lambda: None,
    seconds: float = 0.0,
) -> Outcome:
    """Fill `clusters` (name -> number of pods) while `strike` causes faults.

    Takes at least `seconds`.
    `strike` gets a function that returns the share of pods that the server has accepted, 0 to 1.
    """
    began = time.monotonic()
    posters = [
        Poster(site, token, name, count, seed + place, seconds)
        for place, (name, count) in enumerate(clusters.items())
    ]
    watchers = [Watcher(site, token, name) for name in clusters]
    total = sum(clusters.values())
    for thread in (*posters, *watchers):
        thread.start()
    strike(lambda: sum(poster.accepted for poster in posters) / total)
    for poster in posters:
        poster.join()
    settle()
    errors = wait_until_quiet(site, list(clusters))
    errors += _wait_until_ready(site)
    errors += _check_watches(site, watchers)
    for poster in posters:
        errors += find_violations(site.database_url, poster.cluster, poster.pods)
        errors += _find_wrong_responses(poster)
    failures = sum((poster.client.failures for poster in posters), Counter[str]())
    reconnects = sum(watcher.reconnects for watcher in watchers)
    return Outcome(total, time.monotonic() - began, failures, reconnects, errors)


def wait_until_quiet(site: RunningSite, clusters: list[str]) -> list[str]:
    """Wait until every pod is bound or unschedulable; returns an error after the timeout."""
    deadline = time.monotonic() + QUIET_SECONDS
    left = -1
    while time.monotonic() < deadline:
        try:
            with psycopg.connect(site.database_url, connect_timeout=10) as database:
                left = sum(row[0] for row in database.execute(_LEFT, [clusters]).fetchall())
        except (psycopg.OperationalError, OSError):
            left = -1
        if left == 0:
            return []
        time.sleep(0.5)
    return [f"after {QUIET_SECONDS:.0f} s there is still work left: {left}"]


def check_cluster(site: RunningSite, cluster: str) -> list[str]:
    """The violations in a cluster with whatever pods it has."""
    errors = wait_until_quiet(site, [cluster])
    return errors + find_violations(
        site.database_url, cluster, list_pods(site.database_url, cluster)
    )


def _wait_until_ready(site: RunningSite) -> list[str]:
    deadline = time.monotonic() + QUIET_SECONDS
    status, text = site.get("/readyz")
    while status != 200 and time.monotonic() < deadline:
        time.sleep(0.5)
        status, text = site.get("/readyz")
    return [] if status == 200 else [f"the site is not ready: {text}"]


def _check_watches(site: RunningSite, watchers: list[Watcher]) -> list[str]:
    """Check that each watch has received every version of every pod, once and in order."""
    errors = []
    for watcher in watchers:
        expected = _read_versions(site, watcher.cluster)
        deadline = time.monotonic() + 60
        while watcher.versions[-1:] != expected[-1:] and time.monotonic() < deadline:
            time.sleep(0.2)
        watcher.stop()
        watcher.join()
        if watcher.versions != expected:
            missed = sorted(set(expected) - set(watcher.versions))
            errors.append(f"{watcher.cluster}: a watch missed {len(missed)}, such as {missed[:3]}")
        errors += [f"{watcher.cluster}: {text}" for text in watcher.errors]
    return errors


def _read_versions(site: RunningSite, cluster: str) -> list[int]:
    with psycopg.connect(site.database_url) as database:
        rows = database.execute(
            "SELECT version FROM cluster_change WHERE kind = 'Pod' AND version > 1 AND cluster_id "
            "= (SELECT id FROM cluster_cluster WHERE name = %s) ORDER BY version",
            [cluster],
        )
        return [version for (version,) in rows.fetchall()]


def _find_wrong_responses(poster: Poster) -> list[str]:
    errors = [f"{poster.cluster}: {text}, {count} times" for text, count in poster.errors.items()]
    without_retry = [
        text for text in poster.client.failures if text.startswith("503") and "no Retry" in text
    ]
    return errors + [f"{poster.cluster}: {text}" for text in without_retry]
