"""One run: clusters get their pods while processes die, and then everything must add up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
import yaml

from tests.faults.invariants import NOWHERE, violations
from tests.faults.load import Poster, Watcher
from tests.stack.running_site import RunningSite

#: Longer than any single fault keeps anything from going on, on a machine that does other things.
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
    """What came of a run: figures to print, and everything that was wrong."""

    pods: int
    seconds: float
    met: Counter[str]
    reconnects: int
    wrong: list[str]


def token_of(house: RunningSite) -> str:
    config = yaml.safe_load(house.manage("kubeconfig", "demo", "--user", "admin"))
    return str(config["users"][0]["user"]["token"])


def run(
    house: RunningSite,
    token: str,
    clusters: dict[str, int],
    strike: Callable[[Callable[[], float]], None],
    *,
    seed: int,
    settle: Callable[[], None] = lambda: None,
) -> Outcome:
    """Fill `clusters` (name -> number of pods) while `strike` does its work beside it.

    `strike` gets a function that tells which part of the pods the server has, from 0 to 1.
    """
    began = time.monotonic()
    posters = [
        Poster(house, token, name, count, seed + place)
        for place, (name, count) in enumerate(clusters.items())
    ]
    watchers = [Watcher(house, token, name) for name in clusters]
    total = sum(clusters.values())
    for thread in (*posters, *watchers):
        thread.start()
    strike(lambda: sum(poster.accepted for poster in posters) / total)
    for poster in posters:
        poster.join()
    settle()
    wrong = wait_until_quiet(house, list(clusters))
    wrong += _wait_until_ready(house)
    wrong += _missed(house, watchers)
    for poster in posters:
        wrong += violations(house.database_url, poster.cluster, poster.pods)
        wrong += _wrong_answers(poster)
    met = sum((poster.client.met for poster in posters), Counter[str]())
    reconnects = sum(watcher.reconnects for watcher in watchers)
    return Outcome(total, time.monotonic() - began, met, reconnects, wrong)


def wait_until_quiet(house: RunningSite, clusters: list[str]) -> list[str]:
    """Wait until every pod has its node or its reason; what is wrong when that takes too long."""
    deadline = time.monotonic() + QUIET_SECONDS
    left = -1
    while time.monotonic() < deadline:
        try:
            with psycopg.connect(house.database_url, connect_timeout=10) as database:
                left = sum(row[0] for row in database.execute(_LEFT, [clusters]).fetchall())
        except (psycopg.OperationalError, OSError):
            left = -1
        if left == 0:
            return []
        time.sleep(0.5)
    return [f"after {QUIET_SECONDS:.0f} s there is still something to do: {left}"]


def _wait_until_ready(house: RunningSite) -> list[str]:
    deadline = time.monotonic() + QUIET_SECONDS
    status, text = house.get("/readyz")
    while status != 200 and time.monotonic() < deadline:
        time.sleep(0.5)
        status, text = house.get("/readyz")
    return [] if status == 200 else [f"the house is not ready: {text}"]


def _missed(house: RunningSite, watchers: list[Watcher]) -> list[str]:
    """Each watch has told every version of every pod, once and in order."""
    wrong = []
    for watcher in watchers:
        wanted = _versions(house, watcher.cluster)
        deadline = time.monotonic() + 60
        while watcher.versions[-1:] != wanted[-1:] and time.monotonic() < deadline:
            time.sleep(0.2)
        watcher.stop()
        watcher.join()
        if watcher.versions != wanted:
            missed = sorted(set(wanted) - set(watcher.versions))
            wrong.append(f"{watcher.cluster}: a watch missed {len(missed)}, such as {missed[:3]}")
        wrong += [f"{watcher.cluster}: {text}" for text in watcher.wrong]
    return wrong


def _versions(house: RunningSite, cluster: str) -> list[int]:
    with psycopg.connect(house.database_url) as database:
        rows = database.execute(
            "SELECT version FROM cluster_change WHERE kind = 'Pod' AND version > 1 AND cluster_id "
            "= (SELECT id FROM cluster_cluster WHERE name = %s) ORDER BY version",
            [cluster],
        )
        return [version for (version,) in rows.fetchall()]


def _wrong_answers(poster: Poster) -> list[str]:
    found = [f"{poster.cluster}: {text}, {count} times" for text, count in poster.wrong.items()]
    hasty = [text for text in poster.client.met if text.startswith("503") and "no Retry" in text]
    return found + [f"{poster.cluster}: {text}" for text in hasty]
