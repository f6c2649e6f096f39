"""Controllers that own pods, and disruption budgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    forbidden,
    invalid,
    not_supported,
    required,
    sort_keys,
)
from apps.cluster.validation.metadata import validate_labels
from apps.cluster.validation.selectors import MISMATCH, selects, validate_label_selector
from apps.cluster.validation.templates import validate_lasting_template
from apps.scheduler.labels import from_set

Body = Mapping[str, Any]

_TEMPLATE: Final = "spec.template"
_PERCENT: Final = re.compile("[0-9]+%")
_NOT_PERCENT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_UPDATE_STRATEGIES: Final = ("RollingUpdate", "OnDelete")
_DEPLOYMENT_STRATEGIES: Final = ("Recreate", "RollingUpdate")
_NOTHING_MOVES: Final = "may not be 0 when `maxSurge` is 0"
_RETENTIONS: Final = ("Retain", "Delete")
#: Fields of a StatefulSet that an update may change.
_MUTABLE: Final = frozenset(
    (
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    )
)
_NOT_MUTABLE: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_ORDERS: Final = ("OrderedReady", "Parallel")
_IMMUTABLE: Final = "field is immutable"


def validate_replica_set(replica_set: Body) -> Causes:
    """A ReplicaSet."""
    spec = replica_set.get("spec", {})
    yield from _not_negative(spec, "replicas", "minReadySeconds")
    yield from _selector_and_template(spec, "deployment", kind="ReplicaSet")


def validate_selector_update(workload: Body, old: Body) -> Causes:
    """The selector of a ReplicaSet, Deployment, DaemonSet or Job is immutable."""
    selector = workload.get("spec", {}).get("selector")
    if selector != (old.get("spec") or {}).get("selector"):
        yield invalid("spec.selector", sort_keys(selector), _IMMUTABLE)


def validate_stateful_set(stateful_set: Body) -> Causes:
    """A StatefulSet."""
    spec = stateful_set.get("spec", {})
    order = spec.get("podManagementPolicy", "")
    if not order:
        yield required("spec.podManagementPolicy")
    elif order not in _ORDERS:
        yield invalid("spec.podManagementPolicy", order, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_strategy(spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for field in ("whenDeleted", "whenScaled"):
        if field in retention and retention[field] not in _RETENTIONS:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            yield not_supported(path, retention[field], _RETENTIONS)
    yield from _not_negative(spec, "replicas", "minReadySeconds")
    start = (spec.get("ordinals") or {}).get("start", 0)
    if start < 0:
        yield invalid("spec.ordinals.start", start, names.NOT_NEGATIVE)
    yield from _selector_and_template(
        _add_claim_volumes(spec), "statefulset", kind="StatefulSet", no_selector=""
    )


def validate_stateful_set_update(stateful_set: Body, old: Body) -> Causes:
    """Most of the spec of a StatefulSet is immutable."""
    after, before = (
        {name: value for name, value in (each.get("spec") or {}).items() if name not in _MUTABLE}
        for each in (stateful_set, old)
    )
    if after != before:
        yield forbidden("spec", _NOT_MUTABLE)


def _stateful_strategy(strategy: Body) -> Causes:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.updateStrategy"
    if not kind:
        yield required(path)
    elif kind not in _UPDATE_STRATEGIES:
        value = internal("apps.StatefulSetUpdateStrategy", strategy)
        yield invalid(path, value, "must be 'RollingUpdate' or 'OnDelete'")
    elif rolling is not None and kind == "OnDelete":
        why = "only allowed for updateStrategy 'RollingUpdate'"
        value = internal("apps.RollingUpdateStatefulSetStrategy", rolling)
        yield invalid(f"{path}.rollingUpdate", value, why)
    elif rolling is not None and rolling.get("partition", 0) < 0:
        yield invalid(f"{path}.rollingUpdate.partition", rolling["partition"], names.NOT_NEGATIVE)


def validate_deployment(deployment: Body) -> Causes:
    """A Deployment."""
    spec = deployment.get("spec", {})
    yield from _not_negative(spec, "replicas")
    yield from _selector_and_template(spec, "deployment")
    yield from _deployment_strategy(spec.get("strategy", {}))
    yield from _not_negative(spec, "minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from _not_negative(spec, "progressDeadlineSeconds")
        if deadline <= spec.get("minReadySeconds", 0):
            detail = "must be greater than minReadySeconds"
            yield invalid("spec.progressDeadlineSeconds", deadline, detail)


def _deployment_strategy(strategy: Body) -> Causes:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind not in _DEPLOYMENT_STRATEGIES:
        value = {"Type": kind, "RollingUpdate": _as_internal(rolling)}
        yield not_supported("spec.strategy", value, _DEPLOYMENT_STRATEGIES)
    elif kind == "Recreate" and rolling is not None:
        why = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden("spec.strategy.rollingUpdate", why)
    elif kind == "RollingUpdate":
        path, shares = "spec.strategy.rollingUpdate", rolling or {}
        for field in ("maxUnavailable", "maxSurge"):
            if field in shares:
                yield from _amount(shares[field], f"{path}.{field}")
        if all(_is_zero(shares.get(field)) for field in ("maxUnavailable", "maxSurge")):
            yield invalid(f"{path}.maxUnavailable", shares.get("maxUnavailable"), _NOTHING_MOVES)
        yield from _at_most_all(shares.get("maxUnavailable"), f"{path}.maxUnavailable")


def validate_daemon_set(daemon_set: Body) -> Causes:
    """A DaemonSet."""
    spec = daemon_set.get("spec", {})
    yield from _selector_and_template(spec, "daemonset", kind="DaemonSet")
    yield from _not_negative(spec, "minReadySeconds")
    yield from _daemon_strategy(spec.get("updateStrategy", {}))
    yield from _not_negative(spec, "revisionHistoryLimit")


def validate_daemon_set_update(daemon_set: Body, old: Body) -> Causes:
    """An update of a DaemonSet, whose selector is compared first."""
    yield from validate_selector_update(daemon_set, old)
    yield from validate_daemon_set(daemon_set)


def _daemon_strategy(strategy: Body) -> Causes:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind not in _UPDATE_STRATEGIES:
        value = {"Type": kind, "RollingUpdate": _as_internal(rolling)}
        yield not_supported("spec.updateStrategy", value, _UPDATE_STRATEGIES)
    if kind != "RollingUpdate":
        return
    path, shares = "spec.updateStrategy.rollingUpdate", rolling or {}
    for field in ("maxUnavailable", "maxSurge"):
        yield from _amount(shares.get(field, 0), f"{path}.{field}")
    for field in ("maxUnavailable", "maxSurge"):
        yield from _at_most_all(shares.get(field), f"{path}.{field}")
    idle = [field for field in ("maxUnavailable", "maxSurge") if _is_zero(shares.get(field))]
    if not idle:
        detail = "may not be set when maxUnavailable is non-zero"
        yield invalid(f"{path}.maxSurge", shares["maxSurge"], detail)
    elif len(idle) == 2:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _as_internal(rolling: Body | None) -> Body | None:
    """A rolling update as messages show it, with the names of the server's own type."""
    if rolling is None:
        return None
    shares = {name: rolling.get(name, 0) for name in ("maxUnavailable", "maxSurge")}
    return {"MaxUnavailable": shares["maxUnavailable"], "MaxSurge": shares["maxSurge"]}


def validate_replication_controller(controller: Body) -> Causes:
    """A ReplicationController, whose selector is a map of labels."""
    spec = controller.get("spec", {})
    yield from _not_negative(spec, "minReadySeconds")
    selector = spec.get("selector") or {}
    if not selector:
        yield required("spec.selector")
    yield from validate_labels(selector, "spec.selector")
    yield from _not_negative(spec, "replicas")
    template = spec.get("template")
    if template is None:
        yield required(_TEMPLATE)
        return
    labels = template.get("metadata", {}).get("labels")
    if selector and not from_set(selector).matches(labels or {}):
        yield _mismatch(labels)
    yield from validate_lasting_template(template, _TEMPLATE)
    yield from _no_deadline(template, "ReplicationController")


def validate_disruption_budget(budget: Body) -> Causes:
    """A PodDisruptionBudget: minAvailable or maxUnavailable, not both."""
    spec = budget.get("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        value = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        yield invalid("spec", value, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            yield from _share(spec[field], f"spec.{field}")
    yield from validate_label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)


def _add_claim_volumes(spec: Body) -> Body:
    """The spec of a StatefulSet with the volumes of its claims added to the template."""
    templates = spec.get("volumeClaimTemplates") or ()
    claims = {each.get("metadata", {}).get("name", "") for each in templates}
    if not claims:
        return spec
    template = spec.get("template", {})
    pod = template.get("spec", {})
    own = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    added = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claims)
    ]
    return {**spec, "template": {**template, "spec": {**pod, "volumes": [*own, *added]}}}


def _selector_and_template(
    spec: Body, empty_for: str, *, kind: str = "", no_selector: str = "invalid label selector"
) -> Causes:
    """`kind`: whose pods may have no deadline; `no_selector`: about a selector that is none."""
    selector = spec.get("selector")
    problems = list(validate_label_selector(selector, "spec.selector"))
    if selector is None and kind != "DaemonSet":
        yield required("spec.selector")
    yield from problems
    if selector is not None and not any(selector.values()):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {empty_for}")
    if selector is not None and problems:
        yield invalid("spec.selector", _without_empty_values(selector), no_selector)
        return
    template = spec.get("template", {})
    labels = template.get("metadata", {}).get("labels")
    # no selector selects no pods, an empty one all
    if selector is None or (any(selector.values()) and not selects(selector, labels)):
        yield _mismatch(labels)
    yield from validate_lasting_template(template, _TEMPLATE)
    if kind:
        yield from _no_deadline(template, kind)


def _without_empty_values(selector: Body) -> Body:
    """A selector as messages show it."""
    expressions = selector.get("matchExpressions")
    if not expressions:
        return selector
    shown = [
        {name: value for name, value in each.items() if name != "values" or value}
        for each in expressions
    ]
    return {**selector, "matchExpressions": shown}


def _no_deadline(template: Body, kind: str) -> Causes:
    if template.get("spec", {}).get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", why)


def _mismatch(labels: Mapping[str, str] | None) -> Any:
    return invalid(f"{_TEMPLATE}.metadata.labels", sort_keys(labels), MISMATCH)


def _not_negative(spec: Body, *fields: str) -> Causes:
    for field in fields:
        if spec.get(field, 0) < 0:
            yield invalid(f"spec.{field}", spec[field], names.NOT_NEGATIVE)


def _share(given: int | str, path: str) -> Causes:
    """A count, or a percentage of at most 100."""
    yield from _amount(given, path)
    yield from _at_most_all(given, path)


def _amount(given: int | str, path: str) -> Causes:
    """A count, or a percentage."""
    if isinstance(given, int):
        if given < 0:
            yield invalid(path, given, names.NOT_NEGATIVE)
    elif not _PERCENT.fullmatch(given):
        yield invalid(path, given, _NOT_PERCENT)


def _at_most_all(given: int | str | None, path: str) -> Causes:
    if isinstance(given, str) and _PERCENT.fullmatch(given) and int(given[:-1][:9]) > 100:
        yield invalid(path, given, "must not be greater than 100%")


def _is_zero(given: int | str | None) -> bool:
    """Whether no pods are meant; a text that is no percentage means none."""
    if isinstance(given, str):
        return not _PERCENT.fullmatch(given) or int(given[:-1][:9]) == 0
    return not given
