"""The protobuf messages of the Kubernetes API, from the Go types of Kubernetes 1.36.

`scripts/extract_protobuf.py` generates the data file.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

_SOURCE: Final = Path(__file__).with_name("kubernetes-1.36.json.gz")
SCALARS: Final = frozenset({"bool", "bytes", "double", "int32", "int64", "string"})

API: Final = "k8s.io.api."
META: Final = "k8s.io.apimachinery.pkg.apis.meta."
RUNTIME: Final = "k8s.io.apimachinery.pkg.runtime."
EXTENSIONS: Final = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions."
#: Groups whose names are not the name of their package, alone or followed by `.k8s.io`.
_LONG_GROUPS: Final = {
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
    "rbac.authorization.k8s.io": "rbac",
}


class Field(NamedTuple):
    """A field of a message."""

    number: int
    #: Its name in descriptors.
    name: str
    #: Its name in JSON.
    json: str
    #: One of SCALARS, or the name of a message.
    type: str
    #: Whether JSON leaves out an empty value, or a zero time or struct.
    omits_empty: bool
    omits_zero: bool
    #: Whether an empty value differs from none.
    optional: bool
    #: A list, or a map with strings as keys.
    repeated: bool
    map: bool
    #: JSON has the fields of the message in the place of the message.
    inline: bool


@cache
def messages() -> Mapping[str, tuple[Field, ...]]:
    """The fields of every message, by its name such as `k8s.io.api.core.v1.Pod`."""
    rows = msgspec.json.decode(gzip.decompress(_SOURCE.read_bytes()))
    return {name: tuple(_field(*row) for row in fields) for name, fields in rows.items()}


@cache
def message_of(api_version: str, kind: str) -> str | None:
    """The name of the message of a kind; None for a kind without one."""
    group, _, version = api_version.rpartition("/")
    names = [f"{_package(group)}{version}.{kind}"]
    # options belong to every group; Status and discovery documents are called v1
    if kind.endswith("Options") or api_version in ("v1", "meta.k8s.io/v1beta1"):
        names.append(f"{META}v1.{kind}")
    return next((name for name in names if name in messages() and _is_kind(name)), None)


def _is_kind(name: str) -> bool:
    """Whether objects can be of this type: parts of objects have no metadata."""
    short = name.rpartition(".")[2]
    return short.endswith(("Options", "List", "Versions", "Group")) or any(
        field.json == "metadata" for field in messages()[name]
    )


def _package(group: str) -> str:
    """The package of a group, up to its version; packages of other groups do not exist."""
    if group == "meta.k8s.io":
        return META
    if group == "apiextensions.k8s.io":
        return EXTENSIONS
    short = group.removesuffix(".k8s.io")
    return f"{API}{_LONG_GROUPS.get(group, short) or 'core'}."


def _field(number: int, name: str, json: str, type_: str, flags: str) -> Field:
    inline = "i" in flags
    # dynamic messages are composed from JSON, so fields have the names of JSON where possible
    return Field(
        number,
        json if json.isidentifier() and not inline else name,
        json,
        type_,
        *(flag in flags for flag in "ozprmi"),
    )
