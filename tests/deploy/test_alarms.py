"""The alerts and the dashboard use metrics that exist, and the runbook explains each alert."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import settings as cluster_settings
from apps.engine.metrics.exposition import expose_site
from apps.scheduler.metrics import definitions
from schedweb.health import CHECKS

ROOT = Path(__file__).parents[2]
RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yml").read_text())
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "schedweb.json").read_text())
NAME = re.compile(r"\b(?:schedweb|scheduler|process|kube)_[a-z_]+\b")
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
EXPRESSIONS = [rule["expr"] for rule in ALERTS] + [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]
]


@pytest.fixture
def names(db: None) -> set[str]:
    """The names of all series of a site."""
    (settings.DATA_DIR / "postgres").mkdir(exist_ok=True)
    create_cluster(
        "lab", user="alice", scheduling=cluster_settings.ClusterSettings.Scheduling.EXTERNAL
    )
    text = expose_site(parts=dict.fromkeys(CHECKS, "")).text.decode()
    found = {
        sample.name for family in text_string_to_metric_families(text) for sample in family.samples
    }
    found |= {family.name for family in text_string_to_metric_families(text)}
    return found | {
        f"{metric.name}{end}"
        for metric in vars(definitions).values()
        if isinstance(metric, definitions.Metric)
        for end in ("", "_bucket", "_sum", "_count")
    }


def test_every_metric_exists(names: set[str]) -> None:
    used = {name for expression in EXPRESSIONS for name in NAME.findall(expression)}
    assert len(used) > 12
    assert used <= names


def test_each_alert_says_what_is_wrong_and_the_runbook_what_to_do() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    for rule in ALERTS:
        assert rule["annotations"]["summary"] and rule["labels"]["severity"], rule["alert"]
        assert f"| `{rule['alert']}` |" in text, rule["alert"]
    explained = set(re.findall(r"^\| `(Schedweb\w+)` \|", text, re.MULTILINE))
    assert explained == {rule["alert"] for rule in ALERTS}


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
