"""How pods are scheduled and limited: priorities, budgets, quotas, groups and devices."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.kind import Kind

_SCHEDULING: Final = "scheduling.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_GROUPS: Final = "GenericWorkload"
_RESOURCE: Final = "resource.k8s.io"
PRIORITY_CLASS: Final = Kind(
    "PriorityClass",
    "priorityclasses",
    models.PriorityClass,
    group=_SCHEDULING,
    namespaced=False,
    short_names=("pc",),
    has_generation=True,
    is_looked_up=True,
)

KINDS: Final = (
    PRIORITY_CLASS,
    Kind(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        models.PodDisruptionBudget,
        group="policy",
        short_names=("pdb",),
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "ResourceQuota",
        "resourcequotas",
        models.ResourceQuota,
        short_names=("quota",),
        has_status=True,
    ),
    Kind(
        "LimitRange",
        "limitranges",
        short_names=("limits",),
        creates_on_update=True,
        is_looked_up=True,
    ),
    Kind(
        "FlowSchema",
        "flowschemas",
        group=_FLOW,
        namespaced=False,
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        group=_FLOW,
        namespaced=False,
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "Workload",
        "workloads",
        group=_SCHEDULING,
        version="v1alpha2",
        has_generation=True,
        feature_gate=_GROUPS,
    ),
    Kind(
        "PodGroup",
        "podgroups",
        group=_SCHEDULING,
        version="v1alpha2",
        has_status=True,
        has_generation=True,
        feature_gate=_GROUPS,
    ),
    Kind(
        "ResourceClaim",
        "resourceclaims",
        group=_RESOURCE,
        has_status=True,
        returns_deleted=True,
    ),
    Kind(
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        group=_RESOURCE,
        returns_deleted=True,
    ),
    Kind(
        "ResourceSlice",
        "resourceslices",
        group=_RESOURCE,
        namespaced=False,
        fields=("spec.driver", "spec.nodeName"),
        has_generation=True,
        returns_deleted=True,
    ),
    Kind(
        "DeviceClass",
        "deviceclasses",
        group=_RESOURCE,
        namespaced=False,
        has_generation=True,
        returns_deleted=True,
    ),
)
