"""The number of queries of a page does not depend on the size of the cluster."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop.engines import Engines
from bench import addresses
from tests.dashboard.conftest import ACTOR, add_pods, create_lab, pod

#: page -> queries at most, those of session and user included
BOUNDS = {
    "webhook": 7,
    "webhooks": 4,
    "account": 6,
    "audit": 6,
    "members": 5,
    "new-token": 4,
    "groups": 6,
    "user": 6,
    "users": 4,
    "help": 2,
    "kubeconfig": 5,
    "password": 2,
    "activate-profile": 9,
    "feature-gates": 5,
    "change": 7,
    "changes": 6,
    "charts": 6,
    "cluster": 15,
    "cluster-settings": 4,
    "clusters": 9,
    "board": 12,
    "bundles": 2,
    "pasted": 2,
    "placement": 8,
    "placement-answers": 12,
    "lab-question": 6,
    "debugger": 24,
    "decision-facts": 6,
    "compare-clusters": 5,
    "compare-profiles": 8,
    "compare-scenarios": 8,
    "complete-filter": 4,
    "decision": 9,
    "decision-card": 16,
    "decision-card-svg": 16,
    "decision-card-text": 16,
    "decision-explanation": 6,
    "decision-inputs": 8,
    "decision-nodes": 6,
    "decision-order": 8,
    "decision-plugin": 9,
    "decision-scores": 9,
    "decision-state": 9,
    "decisions": 8,
    "delete-cluster": 9,
    "delete-namespaced-object": 5,
    "delete-object": 6,
    "deleted-clusters": 6,
    "document": 2,
    "document-file": 2,
    "documents": 2,
    "drain": 8,
    "edit-namespaced-object": 5,
    "edit-object": 5,
    "edit-view": 4,
    "events": 6,
    "forget-cluster": 5,
    "fork": 4,
    "heat": 5,
    "import": 4,
    "kinds": 6,
    "lab": 6,
    "landings": 10,
    "namespaced-object": 8,
    "new-cluster": 3,
    "new-node": 4,
    "new-object": 4,
    "new-pod": 6,
    "new-profile": 6,
    "new-view": 3,
    "node": 13,
    "nodes": 7,
    "object": 9,
    "objects": 7,
    "operation": 5,
    "opinions": 6,
    "operation-output": 8,
    "operations": 6,
    "past": 10,
    "plugin": 2,
    "plugins": 2,
    "pod": 16,
    "pod-story": 16,
    "pod-waiting": 7,
    "pod-chain": 9,
    "film": 4,
    "film-frames": 18,
    "consequences": 9,
    "pods": 8,
    "preview": 6,
    "profile": 10,
    "profiles": 7,
    "prospects": 7,
    "queue": 10,
    "queue-history": 6,
    "recorded-decisions": 4,
    "recorded-comparison": 7,
    "refused-nodes": 9,
    "replay": 6,
    "replays": 6,
    "saved-views": 4,
    "scenario": 9,
    "scenarios": 8,
    "search": 8,
}


@pytest.fixture
def full_lab(transactional_db: None, settings: Any, tmp_path: Path) -> Cluster:
    settings.TLS_AUTHORITY_FILE = tmp_path / "authority.pem"
    settings.TLS_AUTHORITY_FILE.write_text("an authority")
    lab = create_lab()
    addresses.furnish(lab, ACTOR)
    return lab


def count_queries(client: Client, cluster: Cluster) -> dict[str, int]:
    counted = {}
    for name, path in addresses.pages(cluster).items():
        # the first request fills caches and is not counted
        answer = client.get(path)
        if answer.status_code in (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.FOUND):
            continue
        assert answer.status_code == HTTPStatus.OK, f"{name}: {path}"
        with CaptureQueriesContext(connection) as queries:
            client.get(path)
        counted[name] = len(queries)
    return counted


def grow(cluster: Cluster) -> None:
    """Add more of everything: nodes, pods in each state, events, decisions, clusters."""
    nodes = [(kinds.NODE, generate_node(f"more-{number}", "zone-1")) for number in range(5)]
    store.create_many(cluster, nodes, actor=ACTOR)
    add_pods(
        cluster,
        *(pod(f"more-{number}") for number in range(8)),
        *(pod(f"vast-{number}", cpu="100") for number in range(4)),
    )
    Engines().run(cluster.pk)
    for number in range(3):
        create_cluster(f"other-{number}", user="alice", nodes=1)


def test_every_page_has_at_most_its_number_of_queries(full_lab: Cluster, alice: Client) -> None:
    before = count_queries(alice, full_lab)
    assert before.keys() == BOUNDS.keys(), "each page has a bound, each bound a page"
    grow(full_lab)
    after = count_queries(alice, full_lab)
    over = {name: n for name, n in after.items() if max(n, before[name]) > BOUNDS[name]}
    assert over == {}


def test_no_page_fails_on_a_request_that_no_page_sends(full_lab: Cluster, alice: Client) -> None:
    """An htmx request for a page without a region gets the page; NUL is refused."""
    alice.raise_request_exception = False
    for name, path in addresses.pages(full_lab).items():
        region = alice.get(path, headers={"HX-Request": "true"})
        assert region.status_code < HTTPStatus.INTERNAL_SERVER_ERROR, name
        nul = alice.get(f"{path}{'&' if '?' in path else '?'}q=%00&name=%00")
        assert nul.status_code == HTTPStatus.BAD_REQUEST, name
