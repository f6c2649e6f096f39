"""Building the bundle of a recorded decision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.ledger import codec, columns
from apps.engine.ledger.reading import read
from apps.engine.ledger.records import DecisionRecord, SeenState
from apps.engine.models import ConfigurationRevision, SchedulingDecision
from apps.engine.profiles import revisions
from apps.engine.profiles.private_keys import without_private_keys
from apps.studies.bundles import contents
from apps.studies.bundles.contents import Bundle, BundledDecision, BundledState
from apps.studies.bundles.opening import ROW_FIELDS, open_bundle
from apps.studies.bundles.pruning import Pruning
from apps.studies.bundles.states import capture
from apps.studies.explanations.states import GAPS, describe_gap, states
from apps.studies.rebuilding import PastState

#: A larger bundle has no names of pods that the decision does not name.
SMALL: Final = 100_000


@dataclass(frozen=True, slots=True)
class BuiltBundle:
    """The file of a bundle."""

    data: bytes
    name: str
    #: how the decision differs when it is decided again from the file; empty if it is equal
    differences: list[str]


def bundle_of(row: SchedulingDecision) -> BuiltBundle:
    """The bundle of a decision, from the state in memory or from the change log.

    Raises BadRequest if its state can no longer be rebuilt.
    """
    try:
        with states.before(row) as state:
            return build_bundle(row, state)
    except GAPS as failure:
        if isinstance(failure, BadRequest):
            raise
        raise BadRequest(f"bundle: {describe_gap(failure)}") from failure


def build_bundle(row: SchedulingDecision, state: PastState) -> BuiltBundle:
    """The bundle of a decision; `state` is the one that it saw, and is not changed.

    The smallest file that is decided again as recorded: pruned, with the names of all pods if it is
    small; else complete. Raises BadRequest if the pod is not in the state.
    """
    record, pod = read(row), state.pod(str(row.pod_uid))
    if pod is None:
        raise BadRequest(
            f"bundle: pod {row.namespace}/{row.name} was not pending at version {state.version}"
        )
    revision = revisions.get_revision(Cluster.objects.get(pk=row.cluster_id), row.profile_revision)
    for prune, names in ((True, True), (True, False), (False, True)):
        pruning = Pruning(pod, record.decision, revision.configuration) if prune else None
        captured = capture(state, pod, pruning, names=names)
        data = contents.encode(
            _bundle(row, record, revision, captured, is_pruned=prune, has_names=names)
        )
        if prune and names and len(data) > SMALL:
            continue
        differences = open_bundle(data).verify()
        if not differences:
            break
    return BuiltBundle(data, f"{state.cluster.name}-decision-{row.pk}.bundle", differences)


def _bundle(
    row: SchedulingDecision,
    record: DecisionRecord,
    revision: ConfigurationRevision,
    captured: BundledState,
    *,
    is_pruned: bool,
    has_names: bool,
) -> Bundle:
    cluster = Cluster.objects.get(pk=row.cluster_id)
    return Bundle(
        cluster=cluster.name,
        tie_break=record.draws.tie_break or cluster.tie_break,
        configuration=without_private_keys(revision.configuration),
        is_legacy=revision.legacy,
        is_pruned=is_pruned,
        has_names=has_names,
        decision=_decision(row, record),
        state=captured,
    )


def _decision(row: SchedulingDecision, record: DecisionRecord) -> BundledDecision:
    # what other pods did before is in the state; the record lists it by their uids
    alone = replace(record, seen=SeenState())
    packed = codec.BatchEncoder().encode(alone, None)
    return BundledDecision(
        id=row.pk,
        pod_uid=str(row.pod_uid),
        node_names=list(record.decision.nodes),
        columns=columns.decompress(packed),
        **{name: getattr(row, name) for name in ROW_FIELDS},
    )
