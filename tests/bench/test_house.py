"""`make bench-house` in small: a site of its own, and every figure of every measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import results, tables
from bench.house import __main__ as house
from bench.house import measures, plan
from bench.results import BenchmarkError
from tests.openb_trace import write_trace

pytestmark = pytest.mark.stack

SMALL = {
    **{"clients": (1, 3), "post_pods": 12, "end_to_end_nodes": (5,), "end_to_end_pods": 20},
    **{"latency_nodes": 5, "latency_pods": 4, "backlog_nodes": 5, "backlog_pods": 25},
    **{"list_pods": 30, "lists": 2, "watchers": 4, "watched_pods": 3},
    **{"memory_posts": 10, "memory_lists": 1},
}
PODS = {
    **{"memory": 10, "post_1": 12, "post_3": 12, "end_to_end_5": 20, "latency": 4},
    **{"backlog": 25, "list": 30, "watchers": 3, "openb": 40},
}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of one run of everything."""
    folder = tmp_path_factory.mktemp("openb")
    write_trace(folder, nodes=6, pods=40)
    return house.measure(house.parse([*arguments(), "--runs", "1", "--openb", str(folder)]))


def arguments() -> list[str]:
    words = []
    for name, value in SMALL.items():
        values = value if isinstance(value, tuple) else (value,)
        words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return words


def test_every_measurement_has_as_many_pods_as_asked(content: dict[str, Any]) -> None:
    found = {name: entry["pods"]["median"] for name, entry in content["measurements"].items()}
    assert found == PODS


def test_figures_are_positive_and_in_order(content: dict[str, Any]) -> None:
    measured = content["measurements"]
    for name in ("post_1", "post_3", "end_to_end_5", "backlog"):
        assert measured[name]["pods_per_s"]["median"] > 0
    for name in ("post_1", "post_3", "latency", "list", "watchers"):
        p50, p90, p99 = (measured[name][f"p{part}_ms"]["median"] for part in (50, 90, 99))
        assert 0 < p50 <= p90 <= p99
    assert measured["list"]["mb"]["median"] > 0.01
    assert (
        measured["backlog"]["seconds"]["median"]
        <= measured["backlog"]["seconds_to_running"]["median"]
    )
    assert 0 < measured["openb"]["bound"]["median"] < 40


def test_processor_time_of_roles_and_client_is_stated(content: dict[str, Any]) -> None:
    measured = content["measurements"]
    assert measured["end_to_end_5"]["web_us"]["median"] > 0
    assert measured["backlog"]["worker_us"]["median"] > 0
    for name in ("post_1", "post_3", "end_to_end_5", "latency", "backlog"):
        assert measured[name]["client_share"]["median"] < 1


def test_memory_of_every_role_is_measured_three_times(content: dict[str, Any]) -> None:
    entry = content["measurements"]["memory"]
    for moment in tables.MOMENTS:
        for role in tables.ROLES:
            rss, pss = (entry[f"{moment}_{role}_{kind}_mb"]["median"] for kind in ("rss", "pss"))
            assert rss >= pss > 1


def test_the_machine_and_its_load_are_stated(content: dict[str, Any]) -> None:
    assert content["machine"]["cores"] >= 1
    assert content["load"].keys() == {"start", "end", "other_cores"}
    assert all(len(entry["loads"]) == 1 for entry in content["measurements"].values())
    assert content["client"] == "Python"


def test_the_table_has_a_row_for_each_measurement(content: dict[str, Any], tmp_path: Path) -> None:
    results.write(tmp_path / "house.json", content)
    read = json.loads((tmp_path / "house.json").read_text())
    shown = tables.house(read, markdown=True)
    assert all(f"| {name} |" in shown for name in PODS if name != "memory")
    assert "| web |" in tables.memory(read, markdown=True)


def test_a_measurement_of_too_few_pods_is_an_error() -> None:
    with pytest.raises(BenchmarkError, match="3 of 4 pods were measured"):
        measures.finish({"pods": 3}, 4, {})


def test_a_site_that_runs_needs_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        house.parse(["--address", "http://localhost:8000"])
    assert "--address needs --token" in capsys.readouterr().err


def test_a_short_run_keeps_the_sizes_that_are_given() -> None:
    options = house.parse(["--short", "--watchers", "7", "--clients", "2", "4"])
    sizes = house.selected_sizes(options)
    assert (sizes.watchers, sizes.clients) == (7, (2, 4))
    assert sizes.backlog_pods == plan.SHORT.backlog_pods
