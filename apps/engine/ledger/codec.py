"""The ledger's `columns`: the parts of a decision that are not searchable fields, as bytes.

A `StoredDecision` is written as a MessagePack array that begins with the version of its layout.
Fields are stored by position: a new one is added at the end, with a default for existing
rows. Any other change of the layout needs a version of its own and a conversion such as
`first_format`.

Verdicts are small integers with the few distinct statuses beside them. Normalized scores are stored
only where they differ from the raw ones, and several columns as one where many nodes have equal
scores. Feasible nodes, totals and ties follow from these and are computed when a decision is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.engine.ledger import columns, first_format
from apps.engine.ledger.records import DecisionRecord, Draws, Expected
from apps.engine.ledger.score_packing import ScorePacker
from apps.scheduler.framework.batch import BatchHint
from apps.scheduler.framework.claim_allocations import ClaimAllocation
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.extender_calls import ExtenderVerb
from apps.scheduler.framework.interface import PostFilterResult
from apps.scheduler.framework.status import Code, Status

#: The layout of `StoredDecision`; the first format had no number.
VERSION = 2

VerdictIds = NDArray[np.int32]
Scores = NDArray[np.int64]
T = TypeVar("T")


class _Stored(msgspec.Struct, array_like=True, gc=False):
    """Stored as an array of its fields; the names are those of the core's class."""


class StoredStatus(_Stored):
    code: Code
    reasons: tuple[str, ...]
    plugin: str


class StoredVerdicts(_Stored):
    """A `NodeStatuses` without the rows that held no node."""

    ids: VerdictIds
    #: entry 0 stands for "passed" and is None
    statuses: list[StoredStatus | None]
    absent: StoredStatus


class StoredCandidate(_Stored):
    node: str
    victims: tuple[str, ...]
    pdb_violations: int
    figures: tuple[int, ...]


class StoredPostFilter(_Stored):
    candidates: tuple[StoredCandidate, ...]
    ties: tuple[str, ...]
    decided_by: str
    offset: int
    node_statuses: StoredVerdicts | None


class StoredPermitWait(_Stored):
    timeouts: dict[str, float]
    seconds: float
    outcome: StoredStatus | None


class StoredExtenderCall(_Stored):
    extender: str
    url: str
    verb: ExtenderVerb
    nodes_in: int
    nodes_out: int
    nanoseconds: int
    error: str
    ignored: bool
    #: absent in older rows
    has_objects: bool = False


class StoredCombinations(_Stored):
    """Raw scores of several plugins, stored once for nodes with equal ones."""

    #: the plugins' places in `raw_scores`, where they are empty
    places: list[int]
    #: the number of the combination of each feasible node
    numbers: VerdictIds
    #: for each of these plugins its scores by the number of the combination
    scores: list[Scores]


class StoredDecision(_Stored, tag=VERSION, kw_only=True):
    """The parts of a decision that are not fields of its row."""

    #: the selected node, also if the binding failed
    node: str
    #: the message comes from the verdicts
    explained: bool
    start: int
    evaluated: int
    nominated_fast_path: bool
    pre_filter: StoredStatus
    pre_filter_nodes: list[str] | None
    filter_skipped: list[str]
    score_skipped: list[str]
    pending_plugins: list[str]
    draw: int
    post_filter_status: StoredStatus | None
    post_filter: StoredPostFilter | None
    nominated_node: str | None
    rejection: StoredStatus | None
    #: extension point -> nanoseconds
    durations: dict[str, int]
    #: [extension point, plugin, ...] of each point that ran plugins, ...
    timed_plugins: list[list[str]]
    #: ... and the nanoseconds of these plugins: names that occur together compress well
    plugin_times: list[int]
    #: whether totals were computed
    scored: bool
    draws: Draws
    loaded_at: int
    expected: tuple[Expected, ...]
    released: tuple[str, ...]
    undone: bool
    permit_wait: StoredPermitWait | None
    extender_calls: list[StoredExtenderCall]
    node_statuses: StoredVerdicts | None
    #: plugin -> weight, in the order of ...
    weights: dict[str, int]
    #: ... the scores of the feasible nodes, and the normalized ones; None = equal to the raw ones
    raw_scores: list[Scores]
    normalized_scores: list[Scores | None]
    claims: tuple[ClaimAllocation, ...] = ()
    combinations: StoredCombinations | None = None
    hint: BatchHint | None = None


class BatchEncoder:
    """Encodes decisions that are recorded together; packs an array that they share only once.

    The arrays must not change while the encoder is in use.
    """

    def __init__(self) -> None:
        self._packer = ScorePacker()
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._packer.pack)

    def encode(self, record: DecisionRecord, alive: NDArray[np.bool_] | None) -> bytes:
        """The bytes of a record; `alive`: (rows,) bool, which rows of its snapshot hold a node.

        None stands for all rows.
        """
        return columns.compress(self._encoder.encode(self._build_stored(record, alive)))

    def _build_stored(
        self, record: DecisionRecord, alive: NDArray[np.bool_] | None
    ) -> StoredDecision:
        decision, scores = record.decision, record.decision.scores
        nominating, statuses = decision.nominating, decision.node_statuses
        wait, nodes = decision.permit_wait, decision.pre_filter_nodes
        # what the decoder unpacks
        packed: Any
        combined: Any
        packed, combined = self._packer.pack_all([*scores.values()])
        timed = {point: spent for point, spent in decision.plugin_durations.items() if spent}
        return StoredDecision(
            node=decision.node,
            explained=bool(decision.filter_message),
            start=decision.start,
            evaluated=decision.evaluated,
            nominated_fast_path=decision.nominated_fast_path,
            pre_filter=_store_status(decision.pre_filter),
            pre_filter_nodes=None if nodes is None else sorted(nodes),
            filter_skipped=_sort(decision.filter_skipped),
            score_skipped=_sort(decision.score_skipped),
            pending_plugins=_sort(decision.pending_plugins),
            draw=decision.draw,
            post_filter_status=_store_status_or_none(decision.post_filter_status),
            post_filter=_store_post_filter(decision.post_filter, alive),
            nominated_node=None if nominating is None else nominating.nominated_node,
            rejection=_store_status_or_none(decision.rejection),
            durations=dict(decision.durations),
            timed_plugins=[[point, *spent] for point, spent in timed.items()],
            plugin_times=[time for spent in timed.values() for time in spent.values()],
            scored=decision.ranking.best is not None,
            draws=record.draws,
            loaded_at=record.seen.loaded_at,
            expected=record.seen.expected,
            released=record.seen.released,
            undone=record.undone,
            permit_wait=None if wait is None else _store(wait, StoredPermitWait),
            extender_calls=[_store(call, StoredExtenderCall) for call in decision.extender_calls],
            node_statuses=None if statuses is None else _store_verdicts(statuses, alive),
            weights={plugin: column.weight for plugin, column in scores.items()},
            raw_scores=[raw for raw, _ in packed],
            normalized_scores=[normalized for _, normalized in packed],
            claims=decision.claims,
            combinations=None if combined is None else StoredCombinations(*combined),
            hint=decision.hint,
        )


def decode(blob: bytes) -> StoredDecision:
    """The inverse of `BatchEncoder.encode`.

    Raises msgspec.ValidationError for bytes of an unknown version.
    """
    data = columns.decompress(blob)
    if first_format.is_first(data):
        return _from_first_format(data)
    stored = _decoder.decode(data)
    if (combined := stored.combinations) is not None:
        for place, scores in zip(combined.places, combined.scores, strict=True):
            stored.raw_scores[place] = scores[combined.numbers]
    return stored


def _store(value: object, kind: type[T]) -> T:
    """A value of the core as the stored type whose fields have the same names."""
    return msgspec.convert(value, kind, from_attributes=True)


def _store_status(status: Status) -> StoredStatus:
    return StoredStatus(status.code, status.reasons, status.plugin)


def _store_status_or_none(status: Status | None) -> StoredStatus | None:
    return None if status is None else _store_status(status)


def _store_verdicts(statuses: NodeStatuses, alive: NDArray[np.bool_] | None) -> StoredVerdicts:
    return StoredVerdicts(
        statuses.ids if alive is None else statuses.ids[alive],
        [_store_status_or_none(status) for status in statuses.statuses],
        _store_status(statuses.absent),
    )


def _store_post_filter(
    result: PostFilterResult | None, alive: NDArray[np.bool_] | None
) -> StoredPostFilter | None:
    if result is None:
        return None
    statuses = result.node_statuses
    return StoredPostFilter(
        _store(result.candidates, tuple[StoredCandidate, ...]),
        result.ties,
        result.decided_by,
        result.offset,
        None if statuses is None else _store_verdicts(statuses, alive),
    )


@lru_cache(maxsize=256)
def _sort(names: frozenset[str]) -> list[str]:
    return sorted(names)


def _unpack(kind: type, item: Any) -> NDArray[Any]:
    return columns.unpack(item, np.int32 if kind == VerdictIds else np.int64)


def _from_first_format(data: bytes) -> StoredDecision:
    values: Mapping[str, Any] = first_format.values(data)
    fields = [values[name] for name in StoredDecision.__struct_fields__]
    return msgspec.convert([VERSION, *fields], StoredDecision, dec_hook=_unpack)


_decoder = msgspec.msgpack.Decoder(StoredDecision, dec_hook=_unpack)
