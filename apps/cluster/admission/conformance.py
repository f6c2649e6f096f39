"""Compares the results of defaulting and priority admission with recordings of API servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.cluster.admission.defaulting import default_metadata
from apps.cluster.admission.defaulting.pods import default_pod
from apps.cluster.admission.draft import Body, draft_of
from apps.cluster.admission.match_label_keys import merge_label_keys
from apps.cluster.admission.priority import set_priority
from apps.cluster.errors import ApiError
from apps.cluster.system_classes import system_class

Json = Mapping[str, Any]

#: Fields that are never recorded.
_UNRECORDED_SPEC: Final = (
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "dnsPolicy",
    "enableServiceLinks",
)
_UNRECORDED_CONTAINER: Final = (
    "imagePullPolicy",
    "terminationMessagePath",
    "terminationMessagePolicy",
)
#: Fields that are not recorded if they have this value.
_IMPLIED: Final = {
    "schedulerName": "default-scheduler",
    "preemptionPolicy": "PreemptLowerPriority",
    "securityContext": {},
}


class ListedClasses:
    """Lookups in the priority classes of a case and the system classes."""

    def __init__(self, priority_classes: list[Body]) -> None:
        self._classes = {item["metadata"]["name"]: item for item in priority_classes}

    def namespace(self, name: str) -> Body | None:
        return {"metadata": {"name": name}}

    def priority_class(self, name: str) -> Body | None:
        return self._classes.get(name) or system_class(name)

    def default_priority_class(self) -> Body | None:
        defaults = [item for item in self._classes.values() if item.get("globalDefault")]
        return min(defaults, key=lambda item: int(item.get("value", 0)), default=None)

    def runtime_class(self, name: str) -> Body | None:
        return None

    def workload(self, namespace: str, name: str) -> Body | None:
        return None

    def limit_ranges(self, namespace: str) -> list[Body]:
        return []

    def default_storage_class(self) -> Body | None:
        return None


def check_apidefaults(case: Json, expect: Json) -> list[str]:
    """Differences between the recorded pod and ours, one line each; empty when they agree."""
    try:
        pod = _admit(case)
    except ApiError as refusal:
        return [f"recorded a pod, ours was rejected: {refusal.message}"]
    return list(_compare(_recorded_part(expect["pod"]), _recorded_part(pod), ""))


def _admit(case: Json) -> Body:
    """The pod after defaulting, priority admission and the creation step."""
    pod = draft_of("Pod", case["pod"])
    default_metadata(pod["metadata"])
    default_pod(pod)
    if "priority" not in pod["spec"]:
        # A priority without a class would be rejected; these recordings treat it as resolved.
        set_priority(pod, ListedClasses(case.get("priorityClasses") or []))
    merge_label_keys(pod)
    return pod


def _recorded_part(pod: Json) -> Body:
    """The pod without the fields that the recordings omit."""
    spec = {
        name: value
        for name, value in pod["spec"].items()
        if name not in _UNRECORDED_SPEC and (name not in _IMPLIED or value != _IMPLIED[name])
    }
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [
                {
                    name: value
                    for name, value in container.items()
                    if name not in _UNRECORDED_CONTAINER and (name, value) != ("resources", {})
                }
                for container in spec[field]
            ]
    # The recorder gave every pod a uid of its own form.
    metadata = {name: value for name, value in pod["metadata"].items() if name != "uid"}
    return {**pod, "metadata": metadata, "spec": spec}


def _compare(recorded: Any, ours: Any, path: str) -> Iterator[str]:
    if isinstance(recorded, Mapping) and isinstance(ours, Mapping):
        for name in sorted({*recorded, *ours}):
            place = f"{path}.{name}" if path else name
            yield from _compare(recorded.get(name), ours.get(name), place)
    elif isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        for index, (left, right) in enumerate(zip(recorded, ours, strict=True)):
            yield from _compare(left, right, f"{path}[{index}]")
    elif recorded != ours:
        yield f"{path}: recorded {recorded!r}, ours {ours!r}"
