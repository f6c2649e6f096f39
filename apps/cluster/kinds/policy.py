"""How pods are scheduled and limited: priorities, budgets, quotas, groups and devices."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.admission.admin_access import check_admin_access
from apps.cluster.admission.defaulting.cluster import default_priority_class, default_resource_quota
from apps.cluster.admission.defaulting.data import (
    default_claim,
    default_claim_template,
    default_flow_schema,
    default_limit_range,
    default_priority_level,
    default_resource_slice,
)
from apps.cluster.admission.defaulting.pod_groups import (
    compared_with_defaults,
    default_pod_group,
    default_workload,
    write_template_reference,
)
from apps.cluster.admission.defaulting.workloads import default_pod_disruption_budget
from apps.cluster.admission.gated_fields import FIELDS_OF_GROUPS, FIELDS_OF_TEMPLATES, drop_mappings
from apps.cluster.admission.pod_groups import admit_pod_group
from apps.cluster.admission.priority import check_default_class
from apps.cluster.admission.statuses import initial_budget_status
from apps.cluster.kind import CLIENT_METADATA, Kind
from apps.cluster.tables.columns import AGE, NAME
from apps.cluster.tables.policy import (
    FLOW_SCHEMAS,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PRIORITY_CLASSES,
    PRIORITY_LEVEL_CONFIGURATIONS,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    RESOURCE_SLICES,
)
from apps.cluster.validation.data import (
    immutable,
    validate_fixed_spec,
    validate_pod_group,
    validate_workload,
    validate_workload_update,
)
from apps.cluster.validation.devices.claims import (
    claim_rule,
    validate_device_class,
    validate_device_class_update,
)
from apps.cluster.validation.devices.slices import (
    validate_resource_slice,
    validate_resource_slice_update,
)
from apps.cluster.validation.devices.statuses import validate_claim_status
from apps.cluster.validation.flow_control import validate_flow_schema, validate_priority_level
from apps.cluster.validation.gates import NODE_RESOURCES
from apps.cluster.validation.group_claims import validate_group_status
from apps.cluster.validation.limit_ranges import validate_limit_range
from apps.cluster.validation.names import path_segment
from apps.cluster.validation.quotas import validate_resource_quota, validate_resource_quota_update
from apps.cluster.validation.scheduling import (
    validate_priority_class,
    validate_priority_class_update,
)
from apps.cluster.validation.statuses import validate_disruption_budget_status
from apps.cluster.validation.workloads import validate_disruption_budget

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
    default=default_priority_class,
    admit_new=check_default_class,
    admit_update=check_default_class,
    validate=validate_priority_class,
    validate_update=validate_priority_class_update,
    compares_updates=True,
    columns=PRIORITY_CLASSES,
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
        default=default_pod_disruption_budget,
        initial_status=initial_budget_status,
        check_name=path_segment,
        validate=validate_disruption_budget,
        validate_status=validate_disruption_budget_status,
        columns=POD_DISRUPTION_BUDGETS,
        needs_version=True,
    ),
    Kind(
        "ResourceQuota",
        "resourcequotas",
        models.ResourceQuota,
        short_names=("quota",),
        has_status=True,
        default=default_resource_quota,
        initial_status=lambda _: {},
        validate=validate_resource_quota,
        validate_update=validate_resource_quota_update,
        counted_by_plural=True,
        columns=RESOURCE_QUOTAS,
        returns_deleted=True,
    ),
    Kind(
        "LimitRange",
        "limitranges",
        short_names=("limits",),
        creates_on_update=True,
        is_looked_up=True,
        default=default_limit_range,
        validate=validate_limit_range,
    ),
    Kind(
        "FlowSchema",
        "flowschemas",
        group=_FLOW,
        namespaced=False,
        has_status=True,
        status_keeps=CLIENT_METADATA,
        has_generation=True,
        columns=FLOW_SCHEMAS,
        validate=validate_flow_schema,
        default=default_flow_schema,
    ),
    Kind(
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        group=_FLOW,
        namespaced=False,
        has_status=True,
        status_keeps=CLIENT_METADATA,
        has_generation=True,
        columns=PRIORITY_LEVEL_CONFIGURATIONS,
        validate=validate_priority_level,
        default=default_priority_level,
    ),
    Kind(
        "Workload",
        "workloads",
        group=_SCHEDULING,
        version="v1alpha2",
        feature_gate=_GROUPS,
        gated_fields=FIELDS_OF_TEMPLATES,
        validate=validate_workload,
        default=default_workload,
        validate_update=compared_with_defaults(validate_workload_update, default_workload),
        compares_updates=True,
        columns=(NAME, AGE),
    ),
    Kind(
        "PodGroup",
        "podgroups",
        group=_SCHEDULING,
        version="v1alpha2",
        has_status=True,
        status_keeps=CLIENT_METADATA,
        feature_gate=_GROUPS,
        admit_new=admit_pod_group,
        gated_fields=FIELDS_OF_GROUPS,
        validate=validate_pod_group,
        default=default_pod_group,
        initial_status=lambda _: {},
        prepare=write_template_reference,
        compares_updates=True,
        validate_update=compared_with_defaults(
            validate_fixed_spec,
            default_pod_group,
            write_template_reference,
        ),
        validate_status=validate_group_status,
        columns=POD_GROUPS,
    ),
    Kind(
        "ResourceClaim",
        "resourceclaims",
        group=_RESOURCE,
        has_status=True,
        status_keeps=CLIENT_METADATA,
        returns_deleted=True,
        default=default_claim,
        admit_new=check_admin_access,
        validate=claim_rule("spec"),
        validate_update=immutable("spec", "resource.ResourceClaimSpec"),
        validate_status=validate_claim_status,
        compares_updates=True,
        columns=RESOURCE_CLAIMS,
    ),
    Kind(
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        group=_RESOURCE,
        returns_deleted=True,
        default=default_claim_template,
        admit_new=check_admin_access,
        validate=claim_rule("spec.spec"),
        validate_update=immutable("spec", "resource.ResourceClaimTemplateSpec"),
        columns=(NAME, AGE),
    ),
    Kind(
        "ResourceSlice",
        "resourceslices",
        group=_RESOURCE,
        namespaced=False,
        fields=("spec.driver", "spec.nodeName"),
        has_generation=True,
        returns_deleted=True,
        gated_fields=((NODE_RESOURCES, drop_mappings),),
        validate=validate_resource_slice,
        validate_update=validate_resource_slice_update,
        columns=RESOURCE_SLICES,
        default=default_resource_slice,
    ),
    Kind(
        "DeviceClass",
        "deviceclasses",
        group=_RESOURCE,
        namespaced=False,
        has_generation=True,
        returns_deleted=True,
        validate=validate_device_class,
        validate_update=validate_device_class_update,
        compares_updates=True,
        columns=(NAME, AGE),
    ),
)
