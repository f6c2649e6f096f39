"""Admission and extensions of the API."""

from __future__ import annotations

from typing import Final

from apps.cluster.kind import Kind

_ADMISSION: Final = "admissionregistration.k8s.io"


KINDS: Final = (
    Kind(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        group="apiextensions.k8s.io",
        namespaced=False,
        short_names=("crd", "crds"),
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "APIService",
        "apiservices",
        group="apiregistration.k8s.io",
        namespaced=False,
        has_status=True,
    ),
    Kind(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        group=_ADMISSION,
        namespaced=False,
        has_generation=True,
    ),
    Kind(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        group=_ADMISSION,
        namespaced=False,
        has_generation=True,
    ),
    Kind(
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        group=_ADMISSION,
        namespaced=False,
        has_status=True,
        has_generation=True,
        is_looked_up=True,
    ),
    Kind(
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        group=_ADMISSION,
        namespaced=False,
        has_generation=True,
        is_looked_up=True,
    ),
    Kind(
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        group=_ADMISSION,
        namespaced=False,
        has_generation=True,
    ),
    Kind(
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        group=_ADMISSION,
        namespaced=False,
        has_generation=True,
    ),
)
