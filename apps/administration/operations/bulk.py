"""Applies one action to many nodes or pods, in batches."""

from __future__ import annotations

from apps.administration.clusters import bulk
from apps.administration.clusters.bulk import BulkAction
from apps.administration.operations.progress import Progress
from apps.cluster.node_changes import BulkResult

#: The argument that a run adds: the first version that its writes may have.
FIRST_VERSION = "first_version"
#: The result lists at most so many messages of refused writes.
_MAX_MESSAGES = 3


def run(work: Progress) -> str:
    """`resource`, `action` and `text`, as of `BulkAction`; the payload has the `names`."""
    action = BulkAction(work.argument("resource"), work.argument("action"), work.argument("text"))
    names = work.payload()["names"]
    work.set_argument(FIRST_VERSION, work.cluster.resource_version + 1)
    result = bulk.apply(work.cluster, action, names, actor=work.actor, progress=work.step)
    return describe(action, result)


def describe(action: BulkAction, result: BulkResult) -> str:
    """The result as one sentence, with the first messages of refused writes."""
    summary = f"{bulk.count(result.done, action.resource)} {action.done_word}"
    if not result.refusals:
        return summary
    messages = "; ".join(dict.fromkeys(result.refusals[:_MAX_MESSAGES]))
    return f"{summary}, {len(result.refusals):,} refused: {messages}"
