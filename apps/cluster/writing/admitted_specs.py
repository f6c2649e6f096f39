"""Specs of pods that were admitted, for later pods with the same spec.

Pods of one workload differ in their metadata alone. Their spec is defaulted, admitted, validated
and encoded once for one admission state; then each pod costs what depends on its metadata.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from apps.cluster.writing.memory import AdmissionState

Body = dict[str, Any]

#: Specs that are kept, and the bytes of their texts; the decoded specs take about ten times these.
MOST_SPECS: Final = 250
MOST_BYTES: Final = 1024 * 1024
#: Larger ones would drop too many others.
LARGEST_SPEC: Final = 16 * 1024

#: matchLabelKeys and mismatchLabelKeys, which add the pod's labels to its selectors.
_LABEL_KEYS: Final = b'atchLabelKeys":'


class SpecKey(NamedTuple):
    """All that the admission, validation and encoding of a pod's spec and status depend on."""

    #: `AdmissionState.identity`: classes, namespaces, plugins and settings.
    state: object
    namespace: str
    user: str
    #: The spec that was sent, as JSON.
    spec: bytes
    #: The pod's labels as JSON, where the spec names some of them; otherwise empty.
    labels: bytes


@dataclass(frozen=True, slots=True)
class AdmittedSpec:
    """What pods with one key have in common. Their bodies share `spec` and `status`."""

    spec: Body
    status: Body
    #: `spec` and `status` as the last members of a JSON object.
    text: bytes
    #: The columns in which queries find pods.
    columns: Mapping[str, Any]
    #: The fields of the spec that its creator owns (managedFields).
    fields: Body
    has_warnings: bool


def key_of(pod: Body, state: AdmissionState, user: str) -> SpecKey | None:
    """The key of a new pod before admission; None where its spec is not shared.

    The status of a pod with scheduling gates contains the time of its creation. LimitRanges
    annotate the pods whose resources they set.
    """
    spec = pod.get("spec")
    if not spec or pod.get("status") or spec.get("schedulingGates"):
        return None
    if next(name for name in pod if name in ("spec", "status")) != "spec":
        return None
    text = msgspec.json.encode(spec)
    if len(text) > LARGEST_SPEC:
        return None
    metadata = pod["metadata"]
    if state.limit_ranges(metadata["namespace"]):
        return None
    return key_of_text(text, metadata, state, user)


def key_of_text(text: bytes, metadata: Body, state: AdmissionState, user: str) -> SpecKey:
    """The key of the spec with this text, for a pod with this metadata.

    Texts of specs that are not kept have keys, too, which are not found. A text that is found is
    that of a spec as it was decoded, so it has no unknown fields, and none twice.
    """
    labels = msgspec.json.encode(metadata.get("labels")) if _LABEL_KEYS in text else b""
    return SpecKey(state.identity, metadata["namespace"], user, text, labels)


class AdmittedSpecs:
    """The specs that were used last, of all clusters."""

    def __init__(self) -> None:
        self._specs: OrderedDict[SpecKey, AdmittedSpec] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._specs)

    def find(self, key: SpecKey) -> AdmittedSpec | None:
        spec = self._specs.get(key)
        if spec is not None:
            self._specs.move_to_end(key)
        return spec

    def add(self, key: SpecKey, spec: AdmittedSpec) -> None:
        """Keep a spec that was not found; the ones that were used least recently are dropped."""
        self._specs[key] = spec
        self._bytes += _size(key, spec)
        while len(self._specs) > MOST_SPECS or self._bytes > MOST_BYTES:
            self._bytes -= _size(*self._specs.popitem(last=False))

    def drop(self, state: AdmissionState) -> None:
        """Drop the specs that were admitted with a state that is out of date."""
        for key in [key for key in self._specs if key.state is state.identity]:
            self._bytes -= _size(key, self._specs.pop(key))


def _size(key: SpecKey, spec: AdmittedSpec) -> int:
    return len(key.spec) + len(key.labels) + len(spec.text)
