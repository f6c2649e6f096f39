"""The rules for updates of pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.pods.qos import qos_class
from apps.cluster.validation.causes import Causes, forbidden, invalid
from apps.cluster.validation.containers import ContainerContext, validate_debug_containers
from apps.cluster.validation.differences import pod_spec_difference
from apps.cluster.validation.pods import validate_pod_spec

Body = Mapping[str, Any]

_UPDATABLE: Final = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_MAX_SECONDS: Final = 2**31 - 1
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_FIELDS: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_UNCHANGEABLE: Final = f"pod updates may not change fields other than {_FIELDS}"
_ONLY_RESIZES: Final = "only cpu and memory resources are mutable"
_ADD_NO_TERMS: Final = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
_ADD_ONLY: Final = "only additions are allowed (no mutations or deletions)"


def validate_pod_update(pod: Body, old: Body) -> Causes:
    """An ordinary update: images, deadlines, more tolerations, fewer gates, and labels."""
    spec, before = pod.get("spec", {}), old.get("spec") or {}
    yield from validate_pod_spec(spec, "spec")
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(before.get(field) or ()):
            yield forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
    yield from _deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    yield from _tolerations(spec.get("tolerations") or (), before.get("tolerations") or ())
    yield from _gates(spec.get("schedulingGates") or (), before.get("schedulingGates") or ())
    if spec == before:
        return
    rest = _with_updatable_fields(spec, before)
    if before.get("schedulingGates"):
        yield from _gated_placement(rest, before)
    if rest != before:
        yield forbidden("spec", f"{_UNCHANGEABLE}\n{pod_spec_difference(before, rest)}")


def validate_pod_resize(pod: Body, old: Body) -> Causes:
    """An update of `/resize`: resources of containers and of the pod, and nothing else."""
    spec, before = pod.get("spec", {}), old.get("spec") or {}
    yield from validate_pod_spec(spec, "spec")
    quality = qos_class(before)
    if qos_class(spec) != quality:
        yield invalid("spec", quality, "Pod QOS Class may not change as a result of resizing")
    elif _without_resources(spec) != _without_resources(before):
        yield forbidden("spec", _ONLY_RESIZES)


def validate_ephemeral_containers(pod: Body, old: Body) -> Causes:
    """An update of `/ephemeralcontainers`: more of them, with names that no container has."""
    path, spec = "spec.ephemeralContainers", pod["spec"]
    known = {each["name"]: each for each in old["spec"].get("ephemeralContainers") or ()}
    listed = spec.get("ephemeralContainers") or ()
    if known.keys() - {each.get("name") for each in listed}:
        yield forbidden(path, "existing ephemeral containers may not be removed")
    others = {
        each["name"] for field in ("containers", "initContainers") for each in spec.get(field) or ()
    }
    # a stored volume is valid
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    yield from validate_debug_containers(listed, path, ContainerContext.of(spec, volumes), others)
    for index, container in enumerate(listed):
        before = known.get(container.get("name", ""))
        if before is not None and before != container:
            yield forbidden(f"{path}[{index}]", "existing ephemeral containers may not be changed")


def _deadline(seconds: int | None, before: int | None) -> Causes:
    path = "spec.activeDeadlineSeconds"
    if seconds is None:
        if before is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= seconds <= _MAX_SECONDS:
        yield invalid(path, seconds, f"must be between 0 and {_MAX_SECONDS}, inclusive")
    elif before is not None and before < seconds:
        yield invalid(path, seconds, "must be less than or equal to previous value")


def _tolerations(tolerations: Sequence[Body], before: Sequence[Body]) -> Causes:
    kept = [_without_seconds(toleration) for toleration in tolerations]
    if any(_without_seconds(toleration) not in kept for toleration in before):
        yield forbidden(
            "spec.tolerations",
            "existing toleration can not be modified except its tolerationSeconds",
        )


def _gates(gates: Sequence[Body], before: Sequence[Body]) -> Causes:
    known = {gate.get("name") for gate in before}
    for index, gate in enumerate(gates):
        if gate.get("name") not in known:
            yield forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
            )


def _with_updatable_fields(spec: Body, before: Body) -> dict[str, Any]:
    """The new spec in which all updatable fields are as before."""
    rest = _with_fields_of(spec, before, _UPDATABLE)
    for field in ("containers", "initContainers"):
        if field in rest:
            pairs = zip(rest[field], before[field], strict=True)
            rest[field] = [_with_fields_of(one, was, ("image",)) for one, was in pairs]
    grace = before.get("terminationGracePeriodSeconds") or 0
    if grace < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = grace
    return rest


def _with_fields_of(one: Body, other: Body, fields: Sequence[str]) -> dict[str, Any]:
    """A copy of `one` in which these fields are as in `other`, present or absent."""
    kept = {name: value for name, value in one.items() if name not in fields}
    return {**kept, **{name: other[name] for name in fields if name in other}}


def _gated_placement(rest: dict[str, Any], before: Body) -> Causes:
    """A gated pod's placement may be narrowed; fields checked here are reset in `rest`."""
    selector, old_selector = rest.get("nodeSelector", {}), before.get("nodeSelector", {})
    if any(selector.get(key) != value for key, value in old_selector.items()):
        yield invalid(
            "spec.nodeSelector",
            selector,
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        )
    terms, old_terms = _node_terms(rest), _node_terms(before)
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if old_terms and len(terms) != len(old_terms):
        yield invalid(path, terms, _ADD_NO_TERMS)
    elif old_terms:
        for index, (term, old_term) in enumerate(zip(terms, old_terms, strict=True)):
            if not _only_adds(term, old_term):
                yield invalid(f"{path}[{index}]", term, _ADD_ONLY)
    same = _with_fields_of(rest, before, ("nodeSelector",))
    same["affinity"] = _with_node_terms_of(rest.get("affinity", {}), before.get("affinity", {}))
    if not same["affinity"] and "affinity" not in before:
        del same["affinity"]
    rest.clear()
    rest.update(same)


def _node_terms(spec: Body) -> list[Body]:
    node = spec.get("affinity", {}).get("nodeAffinity", {})
    return list(node.get(_REQUIRED, {}).get("nodeSelectorTerms") or ())


def _with_node_terms_of(affinity: Body, other: Body) -> dict[str, Any]:
    """`affinity` with the required node affinity of `other`."""
    node = _with_fields_of(
        affinity.get("nodeAffinity", {}), other.get("nodeAffinity", {}), (_REQUIRED,)
    )
    rest = {name: value for name, value in affinity.items() if name != "nodeAffinity"}
    return {**rest, "nodeAffinity": node} if node or "nodeAffinity" in other else rest


def _only_adds(term: Body, old: Body) -> bool:
    if not any(old.get(field) for field in ("matchExpressions", "matchFields")):
        return term == old
    return all(
        (term.get(field) or [])[: len(old.get(field) or [])] == (old.get(field) or [])
        for field in ("matchExpressions", "matchFields")
    )


def _without_seconds(toleration: Body) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _without_resources(spec: Body) -> dict[str, Any]:
    fixed = {name: value for name, value in spec.items() if name != "resources"}
    for field in ("containers", "initContainers"):
        if field in fixed:
            fixed[field] = [
                {n: v for n, v in container.items() if n not in ("resources", "resizePolicy")}
                | {"resources": _fixed_resources(container.get("resources") or {})}
                for container in fixed[field]
            ]
    return fixed


def _fixed_resources(resources: Body) -> dict[str, Any]:
    """The resources that a resize may not change."""
    listed = {field: resources.get(field) or {} for field in ("requests", "limits")}
    fixed = {
        field: {name: amount for name, amount in amounts.items() if name not in ("cpu", "memory")}
        for field, amounts in listed.items()
    }
    return {**fixed, "claims": resources.get("claims") or []}
