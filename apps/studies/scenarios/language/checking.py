"""Checks what a scenario refers to, and computes when everything happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Sized
from datetime import datetime
from typing import Any

from apps.cluster import kinds, limits
from apps.cluster.admission.fields import check_fields
from apps.cluster.errors import Invalid
from apps.scheduler.config.decoding import camel_case
from apps.studies.scenarios.language.reading import Path, Source, describe_excess
from apps.studies.scenarios.language.types import (
    ACTIONS,
    CHECKS,
    HIGHER_IS_BETTER,
    LOWER_IS_BETTER,
    Amount,
    Expectation,
    NodeTarget,
    NotWorse,
    Operation,
    PodSelector,
    Scenario,
    Workload,
)

Body = dict[str, Any]
Problems = Iterator[tuple[Path, str]]

#: of a node, without its number
_LONGEST_NAME = 240
_SOURCES = ("objects", "count", "arrivals", "trace")


def check_scenario(scenario: Scenario, source: Source) -> None:
    """Raise ScenarioError for unknown references, cycles and contradictions."""
    # the other checks build what the amounts name
    if amounts := list(_check_amounts(scenario)):
        raise source.error(amounts)
    problems = [
        *_check_head(scenario),
        *_check_names(scenario),
        *_check_workloads(scenario),
        *_check_operations(scenario),
        *_check_expectations(scenario),
    ]
    problems = problems or list(_check_order(scenario))
    if problems:
        raise source.error(problems)


def order_of(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """The names that wait for others, each with the chain of those before it."""
    after = {each.name: each.after for each in _timed(scenario) if each.name}
    chains: dict[str, tuple[str, ...]] = {}
    for name in after:
        chain, last = {name: None}, name
        while (before := after.get(last, "")) and before not in chain:
            chain[before], last = None, before
        chains[name] = (*chain, before) if before else tuple(chain)
    return chains


def _timed(scenario: Scenario) -> Sequence[Workload | Operation]:
    return [*scenario.workloads, *scenario.operations]


def _check_amounts(scenario: Scenario) -> Problems:
    """What the scenario has too much of, with the limit."""
    for path, entries in _entries(scenario):
        if not limits.SCENARIO_ENTRIES.admits(len(entries)):
            yield path, describe_excess(entries)
    if not limits.SCENARIO_RUNS.admits(count_runs(scenario)):
        yield ("sweep",), f"has more than {limits.SCENARIO_RUNS.highest} runs"
    yield from _check_nodes(scenario)
    yield from _check_pods(scenario)
    times = [each.times for each in scenario.operations]
    for index, number in enumerate(times):
        if not limits.SCENARIO_TIMES.admits(number):
            yield ("operations", index, "times"), f"must be {limits.SCENARIO_TIMES}"
    if not limits.SCENARIO_STEPS.admits(sum(times)):
        most = limits.SCENARIO_STEPS.highest
        yield ("operations",), f"happen {sum(times):,} times, at most {most:,} are read"


def _entries(scenario: Scenario) -> Iterator[tuple[Path, Sized]]:
    """The parts besides the lists, whose entries were counted before they were read."""
    yield ("clusters",), scenario.clusters
    yield ("sweep", "profiles"), scenario.sweep.profiles
    yield ("sweep", "seeds"), scenario.sweep.seeds
    for path, spec in _clusters(scenario):
        yield (*path, "nodes"), spec.nodes


def count_runs(scenario: Scenario) -> int:
    """How many runs it has: with each cluster, each profile and each seed."""
    sweep = scenario.sweep
    return len(scenario.all_clusters) * max(len(sweep.profiles), 1) * max(len(sweep.seeds), 1)


def _check_nodes(scenario: Scenario) -> Problems:
    total = 0
    for path, spec in _clusters(scenario):
        for index, group in enumerate(spec.nodes):
            where = (*path, "nodes", index)
            if not 1 <= group.count <= limits.NODES.highest:
                yield (*where, "count"), f"must be between 1 and {limits.NODES.highest:,}"
            if not limits.ZONES.admits(group.zones):
                yield (*where, "zones"), f"must be {limits.ZONES}"
            if len(group.name) > _LONGEST_NAME:
                yield (*where, "name"), f"must be no more than {_LONGEST_NAME} characters"
        count = sum(group.count for group in spec.nodes)
        if not limits.NODES.admits(count):
            most = limits.NODES.highest
            yield (*path, "nodes"), f"are {count:,} nodes, a cluster has at most {most:,}"
        total += count
    if not limits.SCENARIO_NODES.admits(total):
        most = limits.SCENARIO_NODES.highest
        yield ("clusters",), f"have {total:,} nodes, at most {most:,} are generated"


def _check_pods(scenario: Scenario) -> Problems:
    for index, each in enumerate(scenario.workloads):
        path: Path = ("workloads", index)
        arrivals = each.arrivals
        if each.count is not None and not limits.SCENARIO_PODS.admits(each.count):
            yield (*path, "count"), f"must be {limits.SCENARIO_PODS}"
        if arrivals is None:
            continue
        if arrivals.count is not None and not limits.SCENARIO_PODS.admits(arrivals.count):
            yield (*path, "arrivals", "count"), f"must be {limits.SCENARIO_PODS}"
        if not limits.SCENARIO_ARRIVALS.admits(arrivals.batch):
            yield (*path, "arrivals", "batch"), f"must be {limits.SCENARIO_ARRIVALS}"
    total = sum(each.count or 0 for each in scenario.workloads)
    if not limits.SCENARIO_PODS.admits(total):
        most = limits.SCENARIO_PODS.highest
        yield ("workloads",), f"have {total:,} pods, a run creates at most {most:,}"


def _check_head(scenario: Scenario) -> Problems:
    try:
        if datetime.fromisoformat(scenario.start).tzinfo is None:
            yield ("start",), "must have a time zone, such as 2026-01-01T00:00:00Z"
    except ValueError:
        yield ("start",), f"{scenario.start!r} is not a time such as 2026-01-01T00:00:00Z"
    if scenario.cluster is not None and scenario.clusters:
        yield ("clusters",), "cannot be combined with cluster"
    if scenario.cluster is None and not scenario.clusters:
        yield (), "the field cluster, or clusters, is required"
    for path, spec in _clusters(scenario):
        for index, group in enumerate(spec.nodes):
            yield from _check_taints((*path, "nodes", index, "taints"), group.taints)
        yield from _check_objects((*path, "objects"), spec.objects)


def _clusters(scenario: Scenario) -> Iterator[tuple[Path, Any]]:
    for name, spec in scenario.all_clusters.items():
        yield ("clusters", name) if scenario.clusters else ("cluster",), spec


def _check_taints(path: Path, taints: Sequence[str]) -> Problems:
    for index, text in enumerate(taints):
        if text.rpartition(":")[2] not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            yield (
                (*path, index),
                f"{text!r} is not key=value:Effect, with NoSchedule, PreferNoSchedule or NoExecute",
            )


def _check_objects(path: Path, objects: Sequence[Body]) -> Problems:
    for index, body in enumerate(objects):
        api_version, name = str(body.get("apiVersion")), str(body.get("kind"))
        try:
            kind = kinds.by_api_version(api_version, name)
        except KeyError:
            yield (*path, index), f"no kind {name!r} is registered for apiVersion {api_version!r}"
            continue
        if not isinstance(body.get("metadata"), dict):
            yield (*path, index, "metadata"), "must be an object"
            continue
        try:
            check_fields(kind, body)
        except Invalid as error:
            yield (*path, index), error.message


def _check_names(scenario: Scenario) -> Problems:
    names = Counter(each.name for each in _timed(scenario) if each.name)
    for section in ("workloads", "operations"):
        for index, each in enumerate(getattr(scenario, section)):
            if each.name and names[each.name] > 1:
                yield (section, index, "name"), f"{each.name!r} is used more than once"
            if each.after and each.after not in names:
                yield (section, index, "after"), f"no workload or operation is named {each.after!r}"


def _check_workloads(scenario: Scenario) -> Problems:
    for index, each in enumerate(scenario.workloads):
        path: Path = ("workloads", index)
        given = [name for name in _SOURCES if getattr(each, name)]
        if len(given) != 1:
            yield (
                path,
                f"must have one of {', '.join(_SOURCES)}, not {' and '.join(given) or 'none'}",
            )
        if each.arrivals is not None:
            arrivals = each.arrivals
            if arrivals.count is None and arrivals.until is None and scenario.duration is None:
                yield (
                    (*path, "arrivals"),
                    "must have count or until, as the scenario has no duration",
                )
        if each.trace is not None and each.trace.speed <= 0:
            yield (*path, "trace", "speed"), "must be above 0"
        if any(variant.weight <= 0 for variant in each.variants):
            yield (*path, "variants"), "every weight must be above 0"
        yield from _check_objects((*path, "objects"), each.objects)


def _check_operations(scenario: Scenario) -> Problems:
    known = _known_nodes(scenario)
    for index, each in enumerate(scenario.operations):
        path: Path = ("operations", index)
        given = [name for name in ACTIONS if getattr(each, name) is not None]
        if len(given) != 1:
            yield (
                path,
                f"must have one of {', '.join(ACTIONS)}, not {' and '.join(given) or 'none'}",
            )
            continue
        action = getattr(each, given[0])
        if given[0] == "apply":
            yield from _check_objects((*path, "apply"), action)
        elif given[0] in ("taint", "untaint"):
            yield from _check_taints((*path, given[0], "taint"), [action.taint])
            yield from _check_target((*path, given[0], "nodes"), action.nodes, known)
        elif isinstance(action, str | NodeTarget):
            yield from _check_target((*path, given[0]), action, known)
        else:
            yield from _check_kind((*path, given[0], "kind"), action.kind)


def _known_nodes(scenario: Scenario) -> set[str] | None:
    """The targets of operations that a cluster can have; None if imports may add others."""
    known: set[str] = set()
    targets = set(_targets(scenario))
    objects = [body for each in scenario.operations for body in each.apply or ()]
    objects += [body for each in scenario.workloads for body in each.objects]
    for _, spec in _clusters(scenario):
        if spec.imports:
            return None
        objects += spec.objects
        for group in spec.nodes:
            known.update(targets.intersection(names_of(group.name, group.count)))
    if any(each.trace is not None for each in scenario.workloads):
        return None
    known.update(b["metadata"].get("name", "") for b in objects if _is_node(b))
    return known


def _targets(scenario: Scenario) -> Iterator[str]:
    """The names of the nodes that operations are about."""
    for each in scenario.operations:
        for name in ACTIONS:
            action = getattr(each, name)
            target = getattr(action, "nodes", action)
            if isinstance(target, str):
                yield target
            elif isinstance(target, NodeTarget):
                yield from target.names


def _is_node(body: Mapping[str, Any]) -> bool:
    return body.get("kind") == "Node" and isinstance(body.get("metadata"), dict)


def names_of(prefix: str, count: int) -> list[str]:
    """The names of the nodes of a group, with leading zeros, so that they sort by number."""
    width = len(str(count - 1))
    return [f"{prefix}-{index:0{width}}" for index in range(count)]


def _check_target(path: Path, target: str | NodeTarget, known: set[str] | None) -> Problems:
    names = [target] if isinstance(target, str) else target.names
    if isinstance(target, NodeTarget) and not target.names and not target.labels:
        yield path, "must have names or labels"
    for name in names:
        if known is not None and name not in known:
            yield path, f"there is no node {name!r}"


def _check_kind(path: Path, name: str) -> Problems:
    try:
        kinds.by_name(name)
    except KeyError:
        yield path, f"there is no kind {name!r}"


def _check_expectations(scenario: Scenario) -> Problems:
    workloads = {each.name for each in scenario.workloads}
    for index, each in enumerate(scenario.expectations):
        path: Path = ("expectations", index)
        given = [name for name in CHECKS if getattr(each, name) is not None]
        if len(given) != 1:
            listed = ", ".join(map(camel_case, CHECKS))
            yield (
                path,
                f"must have one of {listed}, not {' and '.join(map(camel_case, given)) or 'none'}",
            )
            continue
        if each.pods.workload and each.pods.workload not in workloads:
            yield (*path, "pods", "workload"), f"no workload is named {each.pods.workload!r}"
        if each.at is not None and scenario.duration is not None and each.at > scenario.duration:
            yield (*path, "at"), "is after the end of the scenario"
        check = getattr(each, given[0])
        if isinstance(check, NotWorse):
            yield from _check_not_worse(each, check, path)
        if (
            isinstance(check, Amount)
            and (check.equals, check.at_least, check.at_most) == (None,) * 3
        ):
            yield (*path, camel_case(given[0])), "must have equals, atLeast or atMost"


def _check_not_worse(each: Expectation, check: NotWorse, path: Path) -> Problems:
    if each.at is not None or each.pods != PodSelector():
        yield (*path, "notWorse"), "is about the whole run, without at and pods"
    if check.percent < 0:
        yield (*path, "notWorse", "percent"), "must not be negative"
    known = [camel_case(name) for name in (*LOWER_IS_BETTER, *HIGHER_IS_BETTER)]
    for index, name in enumerate(check.figures):
        if name not in known:
            listed = ", ".join(known)
            yield (*path, "notWorse", "figures", index), f"must be one of {listed}, not {name!r}"


def _check_order(scenario: Scenario) -> Problems:
    """Cycles of `after`."""
    chains = order_of(scenario)
    for section in ("workloads", "operations"):
        for index, each in enumerate(getattr(scenario, section)):
            chain = chains.get(each.name, ())
            if len(set(chain)) < len(chain) and chain[-1] == each.name:
                yield (section, index, "after"), f"is a cycle: {' after '.join(chain)}"
