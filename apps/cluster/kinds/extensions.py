"""Admission and extensions of the API."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.custom_definitions import new_status, note_stored_version
from apps.cluster.admission.defaulting.data import (
    default_admission_binding,
    default_admission_policy,
    default_api_service,
    default_custom_resource_definition,
    default_validating_policy,
    default_webhooks,
)
from apps.cluster.admission.statuses import initial_registration_status
from apps.cluster.kind import CLIENT_METADATA, Kind
from apps.cluster.tables.extensions import (
    API_SERVICES,
    MUTATING_ADMISSION_POLICIES,
    POLICY_BINDINGS,
    VALIDATING_ADMISSION_POLICIES,
    WEBHOOKS,
)
from apps.cluster.validation.admission_policies import (
    validate_mutating_binding,
    validate_mutating_policy,
    validate_policy,
    validate_policy_binding,
)
from apps.cluster.validation.custom_definitions import (
    validate_definition,
    validate_definition_update,
    validate_new_definition,
    validate_stored_versions,
)
from apps.cluster.validation.names import path_segment
from apps.cluster.validation.registrations import validate_registration
from apps.cluster.validation.statuses import validate_standard_conditions
from apps.cluster.validation.webhooks import validate_webhooks
from apps.cluster.warnings.objects import definition_update_warnings, definition_warnings

_ADMISSION: Final = "admissionregistration.k8s.io"
_CATEGORIES: Final = ("api-extensions",)


KINDS: Final = (
    Kind(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        group="apiextensions.k8s.io",
        namespaced=False,
        categories=_CATEGORIES,
        short_names=("crd", "crds"),
        has_status=True,
        has_generation=True,
        default=default_custom_resource_definition,
        initial_status=new_status,
        admit_update=note_stored_version,
        validate=validate_definition,
        validate_new=validate_new_definition,
        validate_update=validate_definition_update,
        validate_status=validate_stored_versions,
        warn=definition_warnings,
        warn_update=definition_update_warnings,
        needs_version=True,
    ),
    Kind(
        "APIService",
        "apiservices",
        group="apiregistration.k8s.io",
        namespaced=False,
        categories=_CATEGORIES,
        has_status=True,
        status_keeps=CLIENT_METADATA,
        default=default_api_service,
        initial_status=initial_registration_status,
        check_name=path_segment,
        validate=validate_registration,
        columns=API_SERVICES,
        needs_version=True,
    ),
    Kind(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        group=_ADMISSION,
        namespaced=False,
        categories=_CATEGORIES,
        has_generation=True,
        is_looked_up=True,
        default=default_webhooks,
        validate=validate_webhooks,
        columns=WEBHOOKS,
        needs_version=True,
    ),
    Kind(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        group=_ADMISSION,
        namespaced=False,
        categories=_CATEGORIES,
        has_generation=True,
        is_looked_up=True,
        default=default_webhooks,
        validate=validate_webhooks,
        columns=WEBHOOKS,
        needs_version=True,
    ),
    Kind(
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        group=_ADMISSION,
        namespaced=False,
        categories=_CATEGORIES,
        has_status=True,
        status_keeps=CLIENT_METADATA,
        has_generation=True,
        is_looked_up=True,
        default=default_validating_policy,
        validate=validate_policy,
        columns=VALIDATING_ADMISSION_POLICIES,
        needs_version=True,
        validate_status=validate_standard_conditions,
    ),
    Kind(
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        group=_ADMISSION,
        namespaced=False,
        categories=_CATEGORIES,
        has_generation=True,
        is_looked_up=True,
        default=default_admission_binding,
        validate=validate_policy_binding,
        columns=POLICY_BINDINGS,
        needs_version=True,
    ),
    Kind(
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        group=_ADMISSION,
        namespaced=False,
        categories=_CATEGORIES,
        has_generation=True,
        is_looked_up=True,
        default=default_admission_policy,
        validate=validate_mutating_policy,
        columns=MUTATING_ADMISSION_POLICIES,
        needs_version=True,
    ),
    Kind(
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        group=_ADMISSION,
        namespaced=False,
        categories=_CATEGORIES,
        has_generation=True,
        is_looked_up=True,
        default=default_admission_binding,
        validate=validate_mutating_binding,
        columns=POLICY_BINDINGS,
        needs_version=True,
    ),
)
