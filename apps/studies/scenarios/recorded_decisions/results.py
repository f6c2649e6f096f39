"""Recorded decisions: the results in a pod's annotations, and when each was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster import kinds
from apps.studies.importers.recorded_events import Body, Event, Key
from apps.studies.importers.result_annotations import (
    FILTER,
    FINAL_SCORE,
    PRE_FILTER,
    SCORE,
    SELECTED_NODE,
)
from apps.studies.importers.source_files import Place

#: node -> plugin -> text
Table = Mapping[str, Mapping[str, str]]
#: of a node that passes a filter
PASSED: Final = "passed"


@dataclass(frozen=True, slots=True)
class RecordedResults:
    """What the annotations of a pod say about its last attempt."""

    #: plugin -> "success", "" for a plugin without effect, or why it refused the pod
    pre_filter: Mapping[str, str]
    #: "passed", or why the plugin refused the node
    filters: Table
    scores: Table
    #: normalized, times the weight of the plugin
    final_scores: Table
    #: "" if the pod had no node
    selected_node: str


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One attempt: it was made in the state before the event with this index."""

    index: int
    event: Event
    results: RecordedResults


def find_decisions(events: Sequence[Event]) -> list[RecordedDecision]:
    """The attempts of a recording, in order; BadRequest names a wrong annotation.

    The simulator writes the results after the binding: the state that counts is the one before the
    pod had its node.
    """
    bound_at: dict[Key, int] = {}
    known: dict[Key, RecordedResults] = {}
    decisions = []
    for index, event in enumerate(events):
        if event.kind is not kinds.POD:
            continue
        if event.body is None:
            bound_at.pop(event.key, None)
            known.pop(event.key, None)
            continue
        has_node = bool(event.body["spec"].get("nodeName"))
        if has_node:
            bound_at.setdefault(event.key, index)
        results = read_results(event)
        if results is None or results == known.get(event.key):
            continue
        known[event.key] = results
        decisions.append(
            RecordedDecision(bound_at[event.key] if has_node else index, event, results)
        )
    return sorted(decisions, key=lambda each: each.index)


def read_results(event: Event) -> RecordedResults | None:
    """The results in the annotations of a pod; None without any."""
    metadata = (event.body or {}).get("metadata") or {}
    given: Body = metadata.get("annotations") or {}
    if FILTER not in given:
        return None
    place = event.place.at("metadata.annotations")
    return RecordedResults(
        pre_filter=_texts(_decoded(given, PRE_FILTER, place), place),
        filters=_table(given, FILTER, place),
        scores=_table(given, SCORE, place, numbers=True),
        final_scores=_table(given, FINAL_SCORE, place, numbers=True),
        selected_node=str(given.get(SELECTED_NODE) or ""),
    )


def _decoded(given: Body, name: str, place: Place) -> Body:
    try:
        value = msgspec.json.decode(str(given.get(name) or "{}"))
    except msgspec.DecodeError as error:
        raise place.at(name).error(f"this is not JSON: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise place.at(name).error("must be an object")
    return value


def _table(given: Body, name: str, place: Place, *, numbers: bool = False) -> Table:
    where = place.at(name)
    by_node = {}
    for node, plugins in _decoded(given, name, place).items():
        by_node[node] = _texts(plugins, where.at(node))
        for plugin, text in by_node[node].items():
            if numbers and not text.removeprefix("-").isdecimal():
                raise where.at(node).at(plugin).error(f"{text!r} is not an integer")
    return by_node


def _texts(value: Any, place: Place) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise place.error("must be an object from plugins to strings")
    return value
