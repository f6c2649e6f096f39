"""Roles and their bindings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, not_supported, required
from apps.cluster.validation.selectors import validate_label_selector

Body = Mapping[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def validate_role(role: Body) -> Causes:
    """A Role or a ClusterRole."""
    for index, rule in enumerate(role.get("rules") or ()):
        yield from _rule(rule, role["kind"] == "Role", f"rules[{index}]")
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return
    path, selectors = (
        "aggregationRule.clusterRoleSelectors",
        aggregation.get("clusterRoleSelectors"),
    )
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield required(path, detail)
    for index, selector in enumerate(selectors or ()):
        yield from validate_label_selector(selector, f"{path}[{index}]")


def _rule(rule: Body, is_namespaced: bool, path: str) -> Causes:
    urls = rule.get("nonResourceURLs")
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    if urls:
        at = f"{path}.nonResourceURLs"
        if is_namespaced:
            yield invalid(at, urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(at, urls, detail)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def validate_role_binding(binding: Body) -> Causes:
    """A RoleBinding or a ClusterRoleBinding."""
    role, is_namespaced = binding.get("roleRef") or {}, binding["kind"] == "RoleBinding"
    kinds = ("Role", "ClusterRole") if is_namespaced else ("ClusterRole",)
    if role.get("apiGroup", "") != _GROUP:
        yield not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (_GROUP,))
    if role.get("kind") not in kinds:
        yield not_supported("roleRef.kind", role.get("kind", ""), kinds)
    name = role.get("name", "")
    if not name:
        yield required("roleRef.name")
    else:
        yield from all_invalid("roleRef.name", name, names.path_segment(name))
    for index, subject in enumerate(binding.get("subjects") or ()):
        yield from _subject(subject, is_namespaced, f"subjects[{index}]")


def _subject(subject: Body, is_namespaced: bool, path: str) -> Causes:
    kind, name, group = (subject.get(field, "") for field in ("kind", "name", "apiGroup"))
    if not name:
        yield required(f"{path}.name")
    if kind not in _SUBJECTS:
        yield not_supported(f"{path}.kind", kind, _SUBJECTS)
    elif kind == "ServiceAccount":
        if name:
            yield from all_invalid(f"{path}.name", name, names.dns_subdomain(name))
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not is_namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    else:
        if group != _GROUP:
            yield not_supported(f"{path}.apiGroup", group, (_GROUP,))


def validate_role_binding_update(new: Body, old: Body) -> Causes:
    """The role of a binding is immutable."""
    role = new.get("roleRef") or {}
    if role != old.get("roleRef"):
        yield invalid("roleRef", internal("rbac.RoleRef", role), "cannot change roleRef")
