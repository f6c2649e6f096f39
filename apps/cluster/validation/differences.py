"""The unified diff of two specs that the API server prints for a rejected update.

The API server prints its internal types: every field, in the order in which the type declares them,
under its Go name.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.schema.go_types import internal

Body = Mapping[str, Any]

_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def pod_spec_difference(old: Body, new: Body) -> str:
    """The difference of two pod specs."""
    return _difference(old, new, "core.PodSpec")


def claim_spec_difference(old: Body, new: Body) -> str:
    """The difference of the specs of two PersistentVolumeClaims."""
    return _difference(old, new, "core.PersistentVolumeClaimSpec")


def volume_source_difference(old: Body, new: Body) -> str:
    """The difference of the sources of two PersistentVolumes."""
    return _difference(old, new, "core.PersistentVolumeSource")


def _difference(old: Body, new: Body, type_name: str) -> str:
    before, after = (_print_spec(spec, type_name).splitlines() for spec in (old, new))
    hunks = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return "".join(f"{line}\n" for line in hunks)


def _print_spec(spec: Body, type_name: str) -> str:
    text = json.dumps(internal(type_name, spec), indent=1, ensure_ascii=False)
    return text.translate(_ESCAPED)
