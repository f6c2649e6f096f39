"""The use of each node at one moment, as compressed columns.

Nodes are identified by the id of their row, which are consecutive for nodes created together:
their differences compress to almost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import zstandard

from apps.engine.compression import Compressor
from apps.engine.series.levels import BASIC, NodeState

#: Shares are stored in steps of half a percent, up to 127 %; this value means "has none".
_STEPS = 200
_NONE = 255


class _Columns(msgspec.Struct, array_like=True):
    resources: tuple[str, ...]
    #: (N,) int64, differences of the ids
    ids: bytes
    #: (R, N) uint8
    shares: bytes
    #: (N,) uint16
    pods: bytes
    #: (N,) uint8: 1 cordoned, 2 not ready, 3 both
    states: bytes


@dataclass(frozen=True, slots=True)
class OneNode:
    """A node at one moment."""

    #: resource -> requested over allocatable, rounded to half a percent
    shares: dict[str, float]
    pods: int
    cordoned: bool
    ready: bool


_decoder = msgspec.msgpack.Decoder(_Columns)
_compressor = Compressor(level=6)


def encode(state: NodeState) -> bytes:
    shares = np.minimum(np.nan_to_num(state.shares, nan=_NONE / _STEPS) * _STEPS, _NONE - 1)
    packed = np.where(np.isnan(state.shares), _NONE, np.round(shares)).astype(np.uint8)
    pods = np.minimum(state.requested[:, BASIC.index("pods")], 65_535).astype("<u2")
    states = state.cordoned.astype(np.uint8) + 2 * (~state.ready).astype(np.uint8)
    columns = _Columns(
        state.resources,
        np.diff(state.ids, prepend=0).astype("<i8").tobytes(),
        packed.T.tobytes(),
        pods.tobytes(),
        states.tobytes(),
    )
    return _compressor.compress(msgspec.msgpack.encode(columns))


def renumber(data: bytes, new_ids: Mapping[int, int]) -> bytes:
    """The columns with new ids in the same order; nodes without a new id are left out."""
    columns = _decoder.decode(zstandard.decompress(data))
    ids = np.cumsum(np.frombuffer(columns.ids, dtype="<i8")).tolist()
    kept = [row for row, old in enumerate(ids) if old in new_ids]
    renumbered = np.array([new_ids[ids[row]] for row in kept], dtype=np.int64)
    shares = np.frombuffer(columns.shares, dtype=np.uint8).reshape(-1, len(ids))
    columns.ids = np.diff(renumbered, prepend=0).astype("<i8").tobytes()
    columns.shares = shares[:, kept].tobytes()
    columns.pods = np.frombuffer(columns.pods, dtype="<u2")[kept].tobytes()
    columns.states = np.frombuffer(columns.states, dtype=np.uint8)[kept].tobytes()
    return _compressor.compress(msgspec.msgpack.encode(columns))


def decode(data: bytes, node_id: int) -> OneNode | None:
    """The columns of one node; None if it is not among them."""
    columns = _decoder.decode(zstandard.decompress(data))
    ids = np.cumsum(np.frombuffer(columns.ids, dtype="<i8"))
    row = int(np.searchsorted(ids, node_id))
    if row == len(ids) or ids[row] != node_id:
        return None
    shares = np.frombuffer(columns.shares, dtype=np.uint8).reshape(-1, len(ids))[:, row].tolist()
    known = zip(columns.resources, shares, strict=True)
    state = columns.states[row]
    return OneNode(
        shares={name: share / _STEPS for name, share in known if share != _NONE},
        pods=int(np.frombuffer(columns.pods, dtype="<u2")[row]),
        cordoned=bool(state & 1),
        ready=not state & 2,
    )
