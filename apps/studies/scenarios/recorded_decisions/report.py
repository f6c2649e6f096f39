"""The report about a file: its decisions compared, as data and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.engine.profiles import plugins
from apps.scheduler.config import ConfigError, Configuration
from apps.scheduler.config.loading import load
from apps.studies.importers import simulator
from apps.studies.importers.recorded_events import Event, read_event
from apps.studies.scenarios.recorded_decisions.comparing import Comparison, Verdict, compare
from apps.studies.scenarios.recorded_decisions.deciding import decide_again
from apps.studies.scenarios.recorded_decisions.results import RecordedDecision, find_decisions

Body = dict[str, Any]

_DEFAULT: Final[Body] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
#: Differences of one decision that are listed.
_MOST_DIFFERENCES: Final = 200


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file has: the events, the decisions among them, and the configuration to use."""

    events: Sequence[Event]
    decisions: Sequence[RecordedDecision]
    configuration: Configuration


def read_decisions(content: bytes, name: str, configuration: str = "") -> Recording:
    """Read a recording, or a snapshot.

    `configuration` is YAML; without it, that of the snapshot or the default one counts. BadRequest
    names what is wrong in the file, and says if it has no decisions.
    """
    events, own = _read(content, name)
    decisions = find_decisions(events)
    if not decisions:
        raise BadRequest(f"{name}: no pod has the annotations of a recorded decision")
    try:
        loaded = load(configuration or own or _DEFAULT, plugins.known_plugins())
    except ConfigError as error:
        where = "the configuration" if configuration else f"{name}: schedulerConfig"
        raise BadRequest(f"{where}: {error}") from error
    return Recording(events, decisions, loaded)


def compare_file(
    content: bytes,
    name: str,
    configuration: str = "",
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Body:
    """Compare the decisions in a file with ours; raises BadRequest as `read_decisions` does.

    `progress` is called before each decision with its number and their count.
    """
    recording = read_decisions(content, name, configuration)
    compared: list[Comparison] = []
    for recorded, ours in decide_again(
        recording.events, recording.decisions, recording.configuration
    ):
        progress(len(compared), len(recording.decisions))
        event, results = recorded.event, recorded.results
        verdicts = list(compare(results, ours))
        compared.append(
            Comparison(
                namespace=event.namespace,
                name=event.name,
                at=event.at,
                recorded_node=results.selected_node,
                node=ours.node,
                tied=ours.tied_nodes(),
                verdicts=verdicts,
            )
        )
    return _present(name, compared)


def describe(report: Body) -> Iterator[str]:
    """The report as lines of text."""
    yield (
        f"{report['file']}: {report['decisions']:,} decisions compared, "
        f"{report['different']:,} differ"
    )
    for each in report["plugins"]:
        label = f"{each['point']} {each['plugin']}".rstrip()
        yield f"  {label}: {each['compared']:,} compared, {each['different']:,} differ"
    for pod in report["pods"]:
        yield f"{pod['namespace']}/{pod['name']} at {pod['at']:g}s:"
        for each in pod["differences"]:
            label = f"{each['point']} {each['plugin']}".rstrip()
            about = f" on {each['node']}" if each["node"] else ""
            yield f"  {label}{about}: recorded {each['recorded']}, ours {each['ours']}"
        if pod["more"]:
            yield f"  and {pod['more']:,} more"


def _read(content: bytes, name: str) -> tuple[list[Event], Body]:
    """The events of a file, and its configuration; empty if it has none."""
    if not _is_snapshot(content):
        return simulator.read_recording(content, name), {}
    snapshot = simulator.read_snapshot(content, name)
    own = snapshot.get("schedulerConfig")
    return _events_of(snapshot, name), own if isinstance(own, dict) else {}


def _is_snapshot(content: bytes) -> bool:
    """Whether the file is one JSON object with the lists of a snapshot."""
    try:
        document = simulator.read_snapshot(content, "")
    except BadRequest:
        return False
    return "event" not in document


def _events_of(snapshot: Body, name: str) -> list[Event]:
    """A snapshot as events: pods had their nodes in the order of the condition PodScheduled."""
    others: list[Event] = []
    pods: list[Event] = []
    for kind, body, place in simulator.snapshot_objects(snapshot, name):
        # a list of one kind does not repeat it
        typed = {**body, "apiVersion": kind.api_version, "kind": kind.name}
        event = read_event(0.0, typed, place)
        if event is not None:
            (pods if kind is kinds.POD else others).append(event)
    return [*others, *sorted(pods, key=_scheduled_at)]


def _scheduled_at(event: Event) -> tuple[bool, str]:
    """The time of a pod's last decision; pods without a node are the last."""
    body = event.body or {}
    conditions = (body.get("status") or {}).get("conditions") or ()
    times = [
        str(each.get("lastTransitionTime"))
        for each in conditions
        if each.get("type") == "PodScheduled"
    ]
    return not (body.get("spec") or {}).get("nodeName"), max(times, default="")


def _present(name: str, compared: Sequence[Comparison]) -> Body:
    different = [each for each in compared if each.differences]
    return {
        "file": name,
        "decisions": len(compared),
        "different": len(different),
        "plugins": _count([verdict for each in compared for verdict in each.verdicts]),
        "pods": [_present_pod(each) for each in different],
    }


def _count(verdicts: Sequence[Verdict]) -> list[Mapping[str, Any]]:
    """For each extension point and plugin, how much was compared and differs."""
    compared = Counter((each.point, each.plugin) for each in verdicts)
    different = Counter((each.point, each.plugin) for each in verdicts if not each.is_equal)
    return [
        {"point": point, "plugin": plugin, "compared": count, "different": different[point, plugin]}
        for (point, plugin), count in compared.items()
    ]


def _present_pod(comparison: Comparison) -> Body:
    differences = comparison.differences
    return {
        "namespace": comparison.namespace,
        "name": comparison.name,
        "at": round(comparison.at, 3),
        "recorded_node": comparison.recorded_node,
        "node": comparison.node,
        "tied": comparison.tied,
        "differences": [
            {
                "point": each.point,
                "plugin": each.plugin,
                "node": each.node,
                "recorded": each.recorded,
                "ours": each.ours,
            }
            for each in differences[:_MOST_DIFFERENCES]
        ],
        "more": max(len(differences) - _MOST_DIFFERENCES, 0),
    }
