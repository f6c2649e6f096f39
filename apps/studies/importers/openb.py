"""Imports the openb production trace: two CSV files become nodes and pending pods.

A node gets its cpu, memory, 110 pods, and 1000 `alibabacloud.com/gpu-milli` per GPU. A pod requests
`num_gpu` times `gpu_milli` of these, and its `gpu_spec` ("A|B") becomes a required node affinity
for these card models. With GPUs as devices (`openb_devices`), claims take the place of these
resources and of the affinity. Every row of the pod file becomes a new pod, regardless of phase and
times.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.writes import Create, Delete
from apps.controllers.kubelet.registration import node_labels, node_status
from apps.studies.importers import openb_devices
from apps.studies.importers.formats import Format, Objects
from apps.studies.importers.openb_devices import (
    GpuRequest,
    build_slice,
    build_template,
    use_devices,
)
from apps.studies.importers.recorded_events import TimedWrite
from apps.studies.importers.source_files import to_text

Body = dict[str, Any]
T = TypeVar("T")
Row = Mapping[str, str | None]

GPU_RESOURCE = "alibabacloud.com/gpu-milli"
GPU_MODEL_LABEL = "alibabacloud.com/gpu-card-model"
QOS_LABEL = "openb/qos"
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos")


#: At most so many rows of a file are reported.
_MAX_ERRORS = 20


class TraceError(BadRequest):
    """Rows cannot be imported; the message names file, line and column of each."""


class TraceFile(NamedTuple):
    """A CSV file: its name, for messages, and its text."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path) -> TraceFile:
        """The file at a path; raises TraceError if it cannot be read."""
        try:
            return cls(path.name, path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise TraceError(f"{path.name}: {error}") from error


class Line(NamedTuple):
    """An object of a trace, and the line of the file that it is from."""

    file: TraceFile
    number: int
    kind: Kind
    body: Body


def read_trace(
    nodes_file: TraceFile, pods_file: TraceFile, *, gpu_devices: bool = False
) -> list[Line]:
    """The objects of both files, in the order of their creation.

    With `gpu_devices` each GPU is a device, else a part of the node's gpu-milli. TraceError names
    the rows that are wrong.
    """
    build_node, build_pod = partial(_build_node, gpu_devices), partial(_build_pod, gpu_devices)
    nodes, wrong_nodes = _read(nodes_file, NODE_COLUMNS, build_node)
    pods, wrong_pods = _read(pods_file, POD_COLUMNS, build_pod)
    if wrong_nodes or wrong_pods:
        raise TraceError("; ".join([*wrong_nodes, *wrong_pods]))
    devices = _list_devices(nodes_file, pods_file) if gpu_devices else []
    return [
        *(Line(nodes_file, line, kinds.NODE, body) for line, body in nodes),
        *devices,
        *(Line(pods_file, line, kinds.POD, body) for line, body in pods),
    ]


def _list_devices(nodes_file: TraceFile, pods_file: TraceFile) -> list[Line]:
    """The class, a slice for each node with GPUs, and a template for each distinct request."""
    slices, _ = _read(nodes_file, NODE_COLUMNS, _build_slice)
    requests, _ = _read(pods_file, POD_COLUMNS, _read_gpus)
    first = {request: line for line, request in reversed(requests) if request is not None}
    return [
        Line(nodes_file, 1, kinds.by_name("DeviceClass"), openb_devices.build_class()),
        *(
            Line(nodes_file, line, kinds.by_name("ResourceSlice"), body)
            for line, body in slices
            if body is not None
        ),
        *(
            Line(pods_file, line, kinds.by_name("ResourceClaimTemplate"), build_template(request))
            for request, line in first.items()
        ),
    ]


def _build_slice(row: Row) -> Body | None:
    gpus = _read_count(row, "gpu")
    return build_slice(_read_text(row, "sn"), gpus, row["model"] or "") if gpus else None


def _read_gpus(row: Row) -> GpuRequest | None:
    """The GPUs of a pod; None without any."""
    gpus = _read_count(row, "num_gpu")
    if not gpus:
        return None
    milli = _read_count(row, "gpu_milli") if row["gpu_milli"] else 1000
    return GpuRequest(gpus, milli, tuple(row["gpu_spec"].split("|")) if row["gpu_spec"] else ())


def check_nodes(file: TraceFile) -> list[str]:
    """Why rows of the file of nodes cannot be imported, one message for each row."""
    return _read(file, NODE_COLUMNS, partial(_build_node, False))[1]


def read_nodes(file: TraceFile) -> list[Body]:
    """The nodes of a file; TraceError names the rows that are wrong."""
    return [body for _, body in _read_all(file, NODE_COLUMNS, partial(_build_node, False))]


def read_timed_pods(file: TraceFile) -> list[tuple[float, float | None, Body]]:
    """The pods of a file with the times of their creation and deletion, in seconds, in order.

    None: it is not deleted. Times count from the first creation; TraceError as for nodes.
    """
    columns = (*POD_COLUMNS, "creation_time")
    timed_pods = [each for _, each in _read_all(file, columns, _build_timed_pod)]
    first = min((created for created, _, _ in timed_pods), default=0.0)
    timed = [
        (created - first, None if deleted is None else deleted - first, body)
        for created, deleted, body in timed_pods
    ]
    return sorted(timed, key=lambda each: each[0])


def _read_all(
    file: TraceFile, columns: Iterable[str], build: Callable[[Row], T]
) -> list[tuple[int, T]]:
    objects, errors = _read(file, columns, build)
    if errors:
        raise TraceError("; ".join(errors))
    return objects


def _build_timed_pod(row: Row) -> tuple[float, float | None, Body]:
    deleted = _read_count(row, "deletion_time") if row.get("deletion_time") else None
    created = _read_count(row, "creation_time")
    return float(created), None if deleted is None else float(deleted), _build_pod(False, row)


def read_objects(content: bytes, name: str) -> Objects:
    """The nodes of a file of nodes."""
    return [(kinds.NODE, body) for body in read_nodes(TraceFile(name, to_text(content, name)))]


def read_writes(content: bytes, name: str, places: bool) -> list[TimedWrite]:
    """The pods of a file of pods at their times, without nodes, which the file does not have.

    Each ends at its deletion, wherever it is then.
    """
    writes: list[TimedWrite] = []
    for created, deleted, body in read_timed_pods(TraceFile(name, to_text(content, name))):
        writes.append(TimedWrite(created, [Create(kinds.POD, body, "default")]))
        if deleted is not None:
            pod = body["metadata"]["name"]
            options = {"gracePeriodSeconds": 0}
            writes.append(TimedWrite(deleted, [Delete(kinds.POD, "default", pod, options)]))
    return sorted(writes, key=lambda each: each.at)


def check_pods(file: TraceFile) -> list[str]:
    """Why rows of the file of pods cannot be imported, one message for each row."""
    return _read(file, POD_COLUMNS, partial(_build_pod, False))[1]


def _read(
    file: TraceFile, columns: Iterable[str], build: Callable[[Row], T]
) -> tuple[list[tuple[int, T]], list[str]]:
    """The objects of a file, each with its line number, and the errors of other rows."""
    objects: list[tuple[int, T]] = []
    errors: list[str] = []
    reader = csv.DictReader(io.StringIO(file.text, newline=""), restkey="")
    try:
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            return [], [f"{file.name}, line 1: missing columns {', '.join(missing)}"]
        for row in reader:
            try:
                objects.append((reader.line_num, build(row)))
            except ValueError as error:
                errors.append(f"{file.name}, line {reader.line_num}: {error}")
            if len(errors) == _MAX_ERRORS:
                break
    except csv.Error as error:
        errors.append(f"{file.name}, line {reader.line_num}: {error}")
    return objects, errors


def _build_node(gpu_devices: bool, row: Row) -> Body:
    name = _read_text(row, "sn")
    resources = {
        "cpu": f"{_read_count(row, 'cpu_milli')}m",
        "memory": f"{_read_count(row, 'memory_mib')}Mi",
        "pods": "110",
    }
    labels = node_labels(name)
    if (gpus := _read_count(row, "gpu")) and not gpu_devices:
        resources[GPU_RESOURCE] = str(1000 * gpus)
    if row["model"]:
        labels[GPU_MODEL_LABEL] = row["model"]
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            **node_status(name, datetime.now(UTC)),
        },
    }


def _build_pod(gpu_devices: bool, row: Row) -> Body:
    requests = {
        "cpu": f"{_read_count(row, 'cpu_milli')}m",
        "memory": f"{_read_count(row, 'memory_mib')}Mi",
    }
    wanted = _read_gpus(row)
    if wanted is not None and not gpu_devices:
        requests[GPU_RESOURCE] = str(wanted.gpus * wanted.milli)
    limits = {name: value for name, value in requests.items() if name == GPU_RESOURCE}
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    spec: Body = {
        "containers": [
            {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources}
        ]
    }
    if wanted is not None and gpu_devices:
        use_devices({"spec": spec}, wanted)
    elif row["gpu_spec"]:
        spec["affinity"] = {"nodeAffinity": _require_models(row["gpu_spec"].split("|"))}
    metadata: Body = {"name": _read_text(row, "name")}
    if row["qos"]:
        metadata["labels"] = {QOS_LABEL: row["qos"]}
    return {"metadata": metadata, "spec": spec}


def _require_models(models: list[str]) -> Body:
    expression = {"key": GPU_MODEL_LABEL, "operator": "In", "values": models}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [expression]}]
        }
    }


def _read_text(row: Row, column: str) -> str:
    value = row[column]
    if not value:
        raise ValueError(f"column {column} is empty")
    return value


def _read_count(row: Row, column: str) -> int:
    value = row[column]
    if value is None or not value.isascii() or not value.isdigit():
        raise ValueError(f"column {column}: {value!r} is not a non-negative integer")
    return int(value)


FORMAT = Format("openb", read_objects, read_writes)
