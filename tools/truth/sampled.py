"""Compare preemption that looks for fewer candidates than there are.

The real evaluator takes the nodes in the order of a Go map, from a random one on, so that nobody
can say which candidates it finds. But those it finds are among all that there are, they are as many
as the arguments of DefaultPreemption say, and the best one of them is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apps.conformance.options import Options
from apps.conformance.scheduling import CaseReplay, compare_scheduling
from apps.scheduler.config.loading import load
from apps.scheduler.framework.interface import PostFilterResult
from apps.scheduler.plugins.default_preemption import DefaultPreemptionArgs
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.preemption.candidate_search import num_candidates
from apps.scheduler.preemption.ranking import figures_table, rank_candidates

Json = Mapping[str, Any]
EVERY_CANDIDATE = {
    "name": "DefaultPreemption",
    "args": {"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 1},
}


def compare_sampled(case: Json, expect: Json, options: Options) -> list[str]:
    """As `compare_scheduling`, for a case with the default arguments of DefaultPreemption."""
    differences = compare_scheduling(case, expect, Options(no_postfilter=True))
    profile = {"schedulerName": "default-scheduler", "pluginConfig": [EVERY_CANDIDATE]}
    replay = CaseReplay(case, load({**case["config"], "profiles": [profile]}, TABLE))
    for body, wanted in zip(case["pods"], expect["pods"], strict=True):
        computed = replay.schedule(body)
        if "candidates" not in wanted.get("postFilter", ()):
            mine, recorded = computed.get("postFilter"), wanted.get("postFilter")
            problems = [f"{mine}, recorded {recorded}"] if mine != recorded else []
        else:
            assert replay.decision is not None
            assert replay.decision.post_filter is not None
            everything = computed["postFilter"]
            problems = list(_problems(everything, replay.decision.post_filter, wanted))
        differences += [f"{case['id']} {wanted['pod']} postFilter: {each}" for each in problems]
    return differences


def _problems(everything: Json, result: PostFilterResult, wanted: Json) -> Iterator[str]:
    recorded = wanted["postFilter"]
    for field in ("candidates", "nodeStatus"):
        for node, theirs in recorded.get(field, {}).items():
            ours = everything.get(field, {}).get(node)
            if ours != theirs:
                yield f"{field}[{node}] {ours}, recorded {theirs}"
    drawn = [each for each in result.candidates if each.node in recorded["candidates"]]
    yield from _wrong_number(everything, [each.pdb_violations > 0 for each in drawn])
    ties = rank_candidates(drawn, figures_table(drawn)).ties
    # `decide` draws again for its ties, and may miss one of them.
    nominated = recorded["nominatedNode"]
    if not set(recorded["ties"]) <= set(ties) or nominated != recorded["ties"][0]:
        yield f"ties {list(ties)}, recorded {recorded['ties']}, nominated {nominated}"


def _wrong_number(everything: Json, violate: list[bool]) -> Iterator[str]:
    """More than needed are found while all violate a budget."""
    args, possible = DefaultPreemptionArgs(), len(everything["candidates"])
    needed = num_candidates(
        possible + len(everything.get("nodeStatus", {})),
        args.min_candidate_nodes_percentage,
        args.min_candidate_nodes_absolute,
    )
    if len(violate) < min(needed, possible) or max(map(violate.count, (True, False))) > needed:
        yield f"{len(violate)} candidates of {possible}, needed {needed}"
