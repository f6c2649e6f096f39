"""What PodGroups and Workloads always have, also while the feature gates of the fields are off."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body, write_missing
from apps.cluster.kind import UpdateRule
from apps.cluster.validation.causes import Causes

DEFAULT_MODE: Final = "Pod"


def default_pod_group(group: Body) -> None:
    if group.get("spec"):
        group["spec"].setdefault("disruptionMode", DEFAULT_MODE)


def write_template_reference(group: Body) -> None:
    if group.get("spec"):
        write_missing(group["spec"], "podGroupTemplateRef")


def default_workload(workload: Body) -> None:
    for template in (workload.get("spec") or {}).get("podGroupTemplates") or ():
        write_missing(template, "schedulingConstraints")


def compared_with_defaults(rule: UpdateRule, *defaults: Callable[[Body], None]) -> UpdateRule:
    """The rule for objects that may have been stored without these defaults."""

    def compare(new: Mapping[str, Any], old: Mapping[str, Any]) -> Causes:
        before = copy.deepcopy(dict(old))
        for default in defaults:
            default(before)
        return rule(new, before)

    return compare
