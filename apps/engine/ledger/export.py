"""Decisions as files: CSV, JSON, JSON Lines, Parquet, in constant memory for any number of them.

Rows are read in batches by id, without a long transaction: an export blocks neither the loop nor
retention, and each batch has the decisions that exist when it is read. A file has the columns of
the ledger; refusals are at each decision's own address. `explanations.exporting` adds the inputs of
scores.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from apps.cluster.access.reach import EVERYTHING, Reach
from apps.cluster.errors import ApiError
from apps.engine import exported_files, queries
from apps.engine.exported_files import Batches, Format, read_batches
from apps.engine.ledger import finding

Row = dict[str, Any]

_COLUMNS = (
    "id",
    "cluster_id",
    "namespace",
    "name",
    "pod_uid",
    "workload",
    "attempt",
    "at",
    "scheduler_name",
    "profile_revision",
    "result",
    "node",
    "nominated_node",
    "message",
    "post_filter_message",
    "unschedulable_plugins",
    "reasons",
    "victims",
    "nodes",
    "feasible_nodes",
    "tied_nodes",
    "total_score",
    "cluster_version",
    "sequence",
    "duration_us",
    "request_id",
)
#: The columns of a file, in their order; `cluster` is the cluster's name.
FIELDS = ("id", "cluster", *_COLUMNS[1:])
_LISTS = ("unschedulable_plugins", "reasons", "victims")
_NUMBERS = (
    "id",
    "cluster_id",
    "attempt",
    "profile_revision",
    "nodes",
    "feasible_nodes",
    "tied_nodes",
    "total_score",
    "cluster_version",
    "sequence",
    "duration_us",
)


class FormatNotAvailable(ApiError):
    """A format that this installation does not support."""

    code, reason = 501, "NotImplemented"


def batches(
    filters: finding.DecisionFilters,
    *,
    cluster_id: int | None = None,
    limit: int | None = None,
    reach: Reach = EVERYTHING,
) -> Iterator[list[Row]]:
    """The decisions that `finding.find` finds, newest first, as rows of FIELDS."""
    names = queries.list_cluster_names()
    decisions = finding.find(filters, cluster_id=cluster_id, reach=reach).values(*_COLUMNS)
    for rows in read_batches(decisions, limit=limit):
        yield [
            {"id": row["id"], "cluster": names.get(row["cluster_id"], ""), **row} for row in rows
        ]


def write_parquet(columns: Sequence[str], batches: Batches) -> Iterator[bytes]:
    """One row group per batch. FormatNotAvailable, before the first byte, without pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as missing:
        raise FormatNotAvailable(
            "Parquet needs pyarrow, which is not installed here: "
            "python3 -m pip --python .venv/bin/python install pyarrow"
        ) from missing
    return _write_row_groups(pyarrow, parquet, columns, batches)


def _write_row_groups(
    pyarrow: Any, parquet: Any, columns: Sequence[str], batches: Batches
) -> Iterator[bytes]:
    kinds: dict[str, Any] = dict.fromkeys(_NUMBERS, pyarrow.int64())
    kinds |= dict.fromkeys(_LISTS, pyarrow.list_(pyarrow.string()))
    kinds["at"] = pyarrow.timestamp("us", tz="UTC")
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in columns])
    sink = _Chunks()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            plain = [_flatten(row) for row in batch]
            writer.write_table(pyarrow.Table.from_pylist(plain, schema))
            yield sink.take()
    yield sink.take()


def _flatten(row: Mapping[str, Any]) -> Row:
    """Lists of anything but texts become JSON."""
    lists = {
        name: msgspec.json.encode(value).decode()
        for name, value in row.items()
        if isinstance(value, list) and name not in _LISTS
    }
    return {**row, "pod_uid": str(row["pod_uid"]), **lists}


class _Chunks(io.RawIOBase):
    """A file that is only written; its content is taken in chunks."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


FORMATS: Mapping[str, Format] = {
    **exported_files.FORMATS,
    "parquet": Format("parquet", "application/vnd.apache.parquet", write_parquet),
}
