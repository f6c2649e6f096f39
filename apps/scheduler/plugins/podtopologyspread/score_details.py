"""The matching pods in the domains of a node, as sentences with figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.plugins.helper.arithmetic import decimal_text, rounded_down, share_text
from apps.scheduler.plugins.helper.normalize import raw_range
from apps.scheduler.plugins.podtopologyspread.scoring import Part, SpreadScores

#: how an empty label value is written
_NO_TEXT: Final = '""'


def describe_counts(scores: SpreadScores, snapshot: Snapshot, row: int) -> Iterator[Detail]:
    """Each constraint with the count in the node's domain, and their rounded sum.

    ``scores`` are of a cycle in which PreScore has run for the feasible rows.
    """
    lacking = [key for key in scores.required_keys if _value(snapshot, key, row) is None]
    if lacking:
        missing = f"the node has no label {', '.join(lacking)}: it is not scored"
        yield Detail(missing, {"missing": lacking, "score": 0})
        return
    added = []
    for number, part in enumerate(scores.parts, 1):
        detail = _describe_part(number, part, snapshot, row)
        added.append(detail.figures["adds"])
        yield detail
    total = sum(added)
    result = int(np.floor(total + 0.5))
    terms = " + ".join(decimal_text(each) for each in added)
    left = f"{terms} = {decimal_text(total)}" if len(added) > 1 else decimal_text(total)
    yield Detail(f"{left}, rounded to {result}", {"sum": total, "score": result})


def describe_normalization(
    scores: SpreadScores, raw: Int64Array, place: int, result: int
) -> Iterator[Detail]:
    """How close a raw score is to the smallest one, among the nodes that are scored."""
    if scores.ignored is not None and scores.ignored[place]:
        yield Detail("a node that is not scored has 0", {"raw": 0, "score": 0})
        return
    scored = raw if scores.ignored is None else raw[~scores.ignored]
    figures = raw_range(scored, int(np.flatnonzero(scored == raw[place])[0]))
    least, greatest = figures["smallest"], figures["greatest"]
    if greatest == 0:
        words = f"the raw score of every node is 0: each has {result}"
    else:
        above = 100 * (greatest + least - figures["raw"])
        words = (
            f"fewer are better: 100 × ({greatest} + {least} − {figures['raw']}) / {greatest} = "
            f"{rounded_down(above, greatest)}"
        )
    yield Detail(words, {**figures, "reverse": True, "score": result})


def _describe_part(number: int, part: Part, snapshot: Snapshot, row: int) -> Detail:
    constraint = part.constraint
    key, value = constraint.topology_key, _value(snapshot, constraint.topology_key, row)
    head = f"spread constraint {number} ({key}, maxSkew {constraint.max_skew})"
    figures = {
        "constraint": number,
        "topologyKey": key,
        "value": value,
        "domains": part.number,
        "maxSkew": constraint.max_skew,
    }
    if value is None:
        return Detail(f"{head}: the node has no label {key}", {**figures, "adds": 0.0})
    counts = part.sums(snapshot).values
    at = int(part.domains.slots[row]) if part.counted is not None else row
    matching, added = int(counts[at]), float(part.scores(counts, np.array([row]))[0])
    figures |= {"matching": matching, "weight": part.factor, "adds": added}
    if part.counted is not None:
        figures["matchingByValue"] = _by_value(part, snapshot, counts)
    pods = f"{matching} matching pod{'' if matching == 1 else 's'}"
    return Detail(
        f"{head}: {pods} in {value or _NO_TEXT} × weight {share_text(part.factor)} "
        f"(ln({part.number} domains + 2)) + {constraint.max_skew} − 1 = {decimal_text(added)}",
        figures,
    )


def _by_value(part: Part, snapshot: Snapshot, counts: Int64Array) -> dict[str, int]:
    assert part.counted is not None
    values = snapshot.label(part.constraint.topology_key).values
    return {values[slot]: int(counts[slot]) for slot in part.counted.inhabited.tolist()}


def _value(snapshot: Snapshot, key: str, row: int) -> str | None:
    """The node's value of a label."""
    column = snapshot.label(key)
    number = int(column.ids[row])
    return None if number < 0 else column.values[number]
