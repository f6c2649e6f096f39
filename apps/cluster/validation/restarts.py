"""When a container is restarted: after it ends, and after its resources change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation.causes import Causes, duplicate, invalid, not_supported, required

Body = Mapping[str, Any]

_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RESIZED: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")


def validate_restart_rules(container: Body, path: str) -> Causes:
    """restartPolicy and restartPolicyRules of a container."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None and rules:
        problem = "must specify restartPolicy when restart rules are used"
        yield required(f"{path}.restartPolicy", problem)
    elif policy is not None and policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    for index, rule in enumerate(rules):
        place, codes = f"{path}.restartPolicyRules[{index}]", rule.get("exitCodes")
        if rule.get("action", "") not in _ACTIONS:
            yield not_supported(f"{place}.action", rule.get("action", ""), _ACTIONS)
        if codes is None:
            yield required(f"{place}.exitCodes", "must be specified")
        elif codes.get("operator", "") not in _OPERATORS:
            yield not_supported(
                f"{place}.exitCodes.operator", codes.get("operator", ""), _OPERATORS
            )


def validate_resize_policies(policies: Sequence[Body], path: str, restart_policy: str) -> Causes:
    """resizePolicy of a container in a pod with this restart policy."""
    seen: set[str] = set()
    for index, each in enumerate(policies):
        resource, policy = each.get("resourceName", ""), each.get("restartPolicy", "")
        if resource in seen:
            yield duplicate(f"{path}[{index}]", resource)
        seen.add(resource)
        if not resource:
            yield required(path)
        elif resource not in _RESIZED:
            yield not_supported(path, resource, _RESIZED)
        if not policy:
            yield required(path)
        elif policy not in _RESIZE_POLICIES:
            yield not_supported(path, policy, _RESIZE_POLICIES)
        if restart_policy == "Never" and policy != "NotRequired":
            problem = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield invalid(path, policy, problem)
