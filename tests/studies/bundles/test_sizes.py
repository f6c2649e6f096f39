"""Bundles that stand for more than they say are refused before anything is built from them."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import zstandard

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.ledger import codec
from apps.engine.models import SchedulingDecision
from apps.studies.bundles import contents
from apps.studies.bundles.building import bundle_of
from apps.studies.bundles.contents import Bundle
from apps.studies.bundles.opening import open_bundle
from apps.studies.bundles.sizes import check_packed
from apps.studies.bundles.tables import Table
from tests.engine.driving import pod

pytestmark = pytest.mark.django_db(transaction=True)
#: What opening a hostile file may take, in bytes.
MEMORY = 60 * 1024 * 1024


@pytest.fixture
def bundle(cluster: Cluster, schedule: Callable[..., None]) -> Bundle:
    """The bundle of a small decision, to be altered."""
    schedule(pod("web", cpu="1"))
    row = SchedulingDecision.objects.get(cluster=cluster)
    return contents.decode(bundle_of(row).data)


@pytest.fixture
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < MEMORY


def file_of(data: bytes) -> bytes:
    """A file with these contents, and a checksum that matches."""
    packed = zstandard.compress(data)
    return b"schedweb bundle 1\n" + hashlib.sha256(packed).digest() + packed


#: A list of 2,000,000 empty ones.
LISTS = b"\xdd" + (2_000_000).to_bytes(4) + b"\x90" * 2_000_000


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (LISTS, "more than 400,000 values in a bundle's file"),
        (b"\x81\xa5state" + LISTS, "more than 400,000 values"),
        (b"\xdf\xff\xff\xff\xff", "more than 400,000 values"),
        (b"\x91" * 100_000 + b"\x90", "cannot be read"),
        (b"\xc6\xff\xff\xff\xff", "cannot be read"),
        (b"", "cannot be read"),
        (bytes(9 * 1024 * 1024), "more than 8,388,608 bytes"),
    ],
    ids=["lists", "lists in a map", "a long map", "depth", "a long text", "nothing", "zeros"],
)
def test_values_are_counted_before_they_are_decoded(data: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        open_bundle(file_of(data))


def test_every_form_of_a_value_is_counted() -> None:
    forms = [0, -1, 200, 70_000, 2**40, -200, -70_000, -(2**40), 1.5, None, True]
    texts = [letter * size for letter in ("a", b"a") for size in (3, 40, 300, 70_000)]
    others = [msgspec.msgpack.Ext(1, b"a" * size) for size in (1, 2, 4, 8, 16, 17, 300, 70_000)]
    nested = [{"a": 1}, [1] * 20, {str(key): key for key in range(20)}]
    value = [*forms, *texts, *others, *nested]
    fill = 400_000 - len(value) - 1 - 2 - 20 - 40 - 1
    check_packed(msgspec.msgpack.encode([*value, [0] * fill]))
    with pytest.raises(BadRequest, match="more than 400,000"):
        check_packed(msgspec.msgpack.encode([*value, [0] * (fill + 1)]))


def objects(length: int, paths: list[list[str]], *values: Any) -> Table:
    """Equal objects with these values."""
    return Table(length, paths, [[[each]] for each in values], [[length, 1] for _ in paths])


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (objects(10**9, []), "60,000 objects"),
        (objects(60_000, [[str(n)] for n in range(40)], *range(40)), "2,000,000 values"),
        (objects(50_000, [["spec", "taints"]], [{}] * 10_000), "2,000,000 values"),
        (objects(50_000, [["a"] * 10_000], 1), "2,000,000 values"),
        (objects(1, [[]], 1), "a column of a table has no path"),
        (objects(1, [["spec"], ["spec", "taints"]], "x", []), "spec.taints of a table and another"),
        (objects(1, [["spec", "taints"], ["spec"]], [], {}), "column spec of a table and another"),
        (Table(1, [["a"]], [[[1]]], [[1, 2]]), "values that it does not have"),
        (Table(2, [["a"]], [[[1]]], [[2, "u1", b"\1"]]), "values that it does not have"),
        (Table(1, [["a"]], [], []), "contradict each other"),
    ],
    ids=["length", "cells", "lists", "path", "empty", "below", "above", "place", "array", "column"],
)
def test_tables_that_stand_for_too_much_or_contradict_themselves_are_refused(
    bundle: Bundle, table: Table, message: str
) -> None:
    bundle.state.nodes = table
    with pytest.raises(BadRequest, match=message):
        open_bundle(contents.encode(bundle))


def test_objects_of_all_tables_count_together(bundle: Bundle) -> None:
    bundle.state.objects = {"Namespace": objects(30_000, []), "Service": objects(30_000, [])}
    with pytest.raises(BadRequest, match="60,000 objects"):
        open_bundle(contents.encode(bundle))


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("length", [10**7, 10**18, -1])
def test_arrays_of_the_decision_are_measured_before_they_are_built(
    bundle: Bundle, length: int
) -> None:
    stored = msgspec.msgpack.decode(bundle.decision.columns)
    names = ("tag", *codec.StoredDecision.__struct_fields__)
    stored[names.index("node_statuses")][0] = [length, 0]
    bundle.decision.columns = msgspec.msgpack.encode(stored)
    with pytest.raises(BadRequest, match="2,000,000 values|cannot be read"):
        open_bundle(contents.encode(bundle))


def test_a_long_configuration_is_refused(bundle: Bundle) -> None:
    bundle.configuration += "#" * 70_000
    with pytest.raises(BadRequest, match="more than 65,536 characters"):
        open_bundle(contents.encode(bundle))


def test_columns_with_too_many_values_are_refused(bundle: Bundle) -> None:
    bundle.decision.columns = LISTS
    with pytest.raises(BadRequest, match="more than 400,000 values"):
        open_bundle(contents.encode(bundle))
