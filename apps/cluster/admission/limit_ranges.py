"""Enforces LimitRanges on new pods and claims (plugin LimitRanger)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

from apps import quantity
from apps.cluster.admission.draft import Body, child, forbidden
from apps.cluster.lookups import Lookups
from apps.cluster.pods.qos import qos_class
from apps.cluster.pods.resources import aggregate

Field = Literal["requests", "limits"]
#: resource -> amount in 10⁻⁹ units
Amounts = Mapping[str, int]

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_DEFAULTS: Final[tuple[tuple[str, Field, str], ...]] = (
    ("defaultRequest", "requests", "request"),
    ("default", "limits", "limit"),
)


def limit_pod(pod: Body, lookups: Lookups) -> None:
    """Set the defaults of the namespace's LimitRanges."""
    ranges = lookups.limit_ranges(pod["metadata"].get("namespace", ""))
    if not ranges:
        return
    notes = [note for each in ranges for note in _set_defaults(pod, each)]
    if notes:
        annotations = child(pod["metadata"], "annotations")
        annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"
        child(pod, "status")["qosClass"] = qos_class(pod["spec"])


def check_limits(kind: str, body: Body, lookups: Lookups) -> None:
    """Check a valid new pod, or the storage of a claim, against the LimitRanges of its namespace.

    Forbidden if it fails.
    """
    if kind not in ("Pod", "PersistentVolumeClaim"):
        return
    ranges = lookups.limit_ranges(body["metadata"].get("namespace", ""))
    if ranges and kind == "Pod":
        errors = [error for each in ranges for error in _pod_errors(body["spec"], each)]
        _refuse("pods", body, errors)
    elif ranges:
        _check_claim(body, ranges)


def _check_claim(claim: Body, ranges: Sequence[Body]) -> None:
    requests = _nanos((claim.get("spec", {}).get("resources") or {}).get("requests"))
    errors = [
        error
        for each in ranges
        for item in _items(each, "PersistentVolumeClaim")
        for field, sign, said in (("min", -1, "minimum"), ("max", 1, "maximum"))
        for error in _bound(item, field, sign, said, requests, {}, {}, of_requests=True)
    ]
    _refuse("persistentvolumeclaims", claim, errors)


def _items(limit_range: Body, kind: str) -> Iterator[Body]:
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") == kind:
            yield item


def _set_defaults(pod: Body, limit_range: Body) -> Iterator[str]:
    for name, word in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(name) or ():
            for default, field, said in _DEFAULTS:
                added = _default_container(container, limit_range, default, field)
                if added:
                    yield f"{', '.join(added)} {said} for {word} {container['name']}"


def _default_container(container: Body, limit_range: Body, default: str, field: Field) -> list[str]:
    """Set the amounts that a container does not specify; returns the names of the resources."""
    wanted = {
        k: v for i in _items(limit_range, "Container") for k, v in (i.get(default) or {}).items()
    }
    given = (container.get("resources") or {}).get(field) or {}
    added = sorted(wanted.keys() - given.keys())
    if added:
        resources = child(container, "resources")
        resources[field] = {**given, **{name: wanted[name] for name in added}}
    return added


def _pod_errors(spec: Body, limit_range: Body) -> Iterator[str]:
    for item in _items(limit_range, "Container"):
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            requests, limits = _nanos(resources.get("requests")), _nanos(resources.get("limits"))
            yield from _errors(item, requests, limits, resources)
    for item in _items(limit_range, "Pod"):
        yield from _errors(item, aggregate(spec, "requests"), aggregate(spec, "limits"))


def _errors(
    item: Body, requests: Amounts, limits: Amounts, given: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[str]:
    """The errors of these amounts; those of a container are `given` as texts, too."""
    yield from _bound(item, "min", -1, "minimum", requests, limits, given, of_requests=True)
    yield from _bound(item, "max", 1, "maximum", limits, requests, given, of_requests=False)
    for name, ratio in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        said = f"{name} max limit to request ratio per {item['type']} is {ratio}, but"
        if not requests.get(name):
            yield f"{said} no request is specified or request is 0"
        elif not limits.get(name):
            yield f"{said} no limit is specified or limit is 0"
        elif limits[name] * 10**9 > quantity.parse(ratio).nanos * requests[name]:
            yield f"{said} provided ratio is {limits[name] / requests[name]:f}"


def _bound(
    item: Body,
    field: str,
    sign: int,
    said: str,
    first: Amounts,
    second: Amounts,
    given: Mapping[str, Any],
    *,
    of_requests: bool,
) -> Iterator[str]:
    """The resources outside a bound: `first` is compared, and needed; then `second`."""
    words = ("request", "limit") if of_requests else ("limit", "request")
    for name, bound in sorted((item.get(field) or {}).items()):
        nanos, parsed = quantity.parse(bound).nanos, quantity.parse(bound)
        text = f"{said} {name} usage per {item['type']} is {bound}"
        if name not in first:
            yield f"{text}.  No {words[0]} is specified"
            continue
        for amounts, word in ((first, words[0]), (second, words[1])):
            if name in amounts and sign * (amounts[name] - nanos) > 0:
                text_given = (given.get(f"{word}s") or {}).get(name)
                notation = parsed if text_given is None else quantity.parse(text_given)
                shown = quantity.format_nanos(amounts[name], notation.format)
                yield f"{text}, but {word} is {shown}"
                break


def _nanos(amounts: Any) -> Amounts:
    return {name: quantity.parse(given).nanos for name, given in (amounts or {}).items()}


def _refuse(plural: str, body: Body, errors: Sequence[str]) -> None:
    # the API server says once what holds for several containers
    errors = list(dict.fromkeys(errors))
    if errors:
        why = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        raise forbidden(plural, body["metadata"].get("name", ""), why)
