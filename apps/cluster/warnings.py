"""Warnings about new objects, in the words of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.kind import Kind

Body = Mapping[str, Any]

_LABELS: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
}
_CRITICAL: Final = "scheduler.alpha.kubernetes.io/critical-pod"
_BYTES: Final = ("memory", "ephemeral-storage")
_RULES: Final = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_KEPT_PODS: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_TOKENS_IN_ATTRIBUTES: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
    "prevent possible logging of tokens in volume attributes"
)
_STANDARD_FINALIZERS: Final = frozenset({"foregroundDeletion", "orphan"})
_NO_PATH: Final = (
    "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts "
    "with other finalizer writers"
)
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"


def warnings_of(kind: Kind, body: Body) -> list[str]:
    """The warnings for the creation of an object."""
    if kind.schema_name:
        return list(_finalizer_warnings(body["metadata"]))
    return list(kind.warn(body)) if kind.warn is not None else []


def _finalizer_warnings(metadata: Body) -> Iterator[str]:
    for finalizer in metadata.get("finalizers") or ():
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            yield f'metadata.finalizers: "{finalizer}": {_NO_PATH}'


def pod_warnings(pod: Body) -> Iterator[str]:
    """The warnings about a pod."""
    yield from _name_warnings(pod["metadata"]["name"])
    yield from _pod_warnings(pod, "")


def template_warnings(workload: Body) -> Iterator[str]:
    """The warnings about the pods of a workload."""
    yield from _pod_warnings(workload["spec"]["template"], "spec.template.")


def csi_driver_warnings(driver: Body) -> Iterator[str]:
    """The warnings about a CSIDriver."""
    spec = driver["spec"]
    if spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None:
        yield _TOKENS_IN_ATTRIBUTES


def warnings_of_deletion(kind: str, options: Body) -> list[str]:
    """The warnings for a deletion with these options."""
    said = {"propagationPolicy", "orphanDependents"} & options.keys()
    return [_KEPT_PODS] if kind == "Job" and not said else []


def warnings_of_pod_metadata(metadata: Body) -> list[str]:
    """The warnings for the creation of a pod whose spec has none."""
    return [*_name_warnings(metadata["name"]), *_annotation_warnings(metadata, "")]


def _name_warnings(name: str) -> Iterator[str]:
    if "." in name:
        yield (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            "behavior; a DNS label is recommended: [must not contain dots]"
        )


def _pod_warnings(pod: Body, root: str) -> Iterator[str]:
    spec = pod.get("spec") or {}
    path = f"{root}spec"
    for key in sorted(spec.get("nodeSelector") or {}):
        if key in _LABELS:
            yield f"{path}.nodeSelector[{key}]: {_deprecation(key)}"
    yield from _affinity_warnings(spec.get("affinity") or {}, f"{path}.affinity")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        place = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.get("topologyKey", "")
        if key in _LABELS:
            yield f"{place}.topologyKey: {key} is {_deprecation(key)}"
        if constraint.get("labelSelector") is None:
            yield f"{place}.labelSelector: {_NO_SELECTOR}"
    yield from _annotation_warnings(pod.get("metadata") or {}, root)
    yield from _fraction_warnings(spec.get("overhead"), f"{path}.overhead")
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            for part in ("limits", "requests"):
                listed = (container.get("resources") or {}).get(part)
                yield from _fraction_warnings(listed, f"{path}.{field}[{index}].resources.{part}")
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
            "will be treated as 1"
        )


def _annotation_warnings(metadata: Body, root: str) -> Iterator[str]:
    if _CRITICAL in (metadata.get("annotations") or {}):
        yield (
            f"{root}metadata.annotations[{_CRITICAL}]: non-functional in v1.16+; use the "
            '"priorityClassName" field instead'
        )


def _affinity_warnings(affinity: Body, path: str) -> Iterator[str]:
    rules = affinity.get("nodeAffinity") or {}
    terms = (rules.get(_RULES[0]) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from _term_warnings(
            term, f"{path}.nodeAffinity.{_RULES[0]}.nodeSelectorTerms[{index}]"
        )
    for index, weighted in enumerate(rules.get(_RULES[1]) or ()):
        place = f"{path}.nodeAffinity.{_RULES[1]}[{index}].preference"
        yield from _term_warnings(weighted.get("preference") or {}, place)
    for name in ("podAffinity", "podAntiAffinity"):
        for rule in _RULES:
            for index, given in enumerate((affinity.get(name) or {}).get(rule) or ()):
                inner = "podAffinityTerm" in given
                term = given["podAffinityTerm"] if inner else given
                if term.get("labelSelector") is None:
                    place = f"{path}.{name}.{rule}[{index}]{'.podAffinityTerm' if inner else ''}"
                    yield f"{place}.labelSelector: {_NO_SELECTOR}"


def _term_warnings(term: Body, path: str) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key", "")
        if key in _LABELS:
            yield f"{path}.matchExpressions[{index}].key: {key} is {_deprecation(key)}"


def _fraction_warnings(listed: Body | None, path: str) -> Iterator[str]:
    for name in _BYTES:
        amount = (listed or {}).get(name)
        if amount is not None and quantity.milli(amount) % 1000:
            yield f'{path}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'


def _deprecation(label: str) -> str:
    since, instead = _LABELS[label]
    return f'deprecated since {since}; use "{instead}" instead'
