"""The templates of pods in workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.validation.causes import Causes, forbidden, not_supported
from apps.cluster.validation.metadata import validate_template_metadata
from apps.cluster.validation.pods import validate_pod_spec

Body = Mapping[str, Any]


def validate_pod_template(template: Body, path: str) -> Causes:
    """The metadata and the spec of a template."""
    # the API server's messages name labels and annotations without the metadata
    yield from validate_template_metadata(template.get("metadata", {}), path)
    yield from validate_pod_spec(template.get("spec", {}), f"{path}.spec")
    if template.get("spec", {}).get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        yield forbidden(f"{path}.spec.ephemeralContainers", why)


def validate_lasting_template(template: Body, path: str) -> Causes:
    """A template whose pods are restarted whenever they end."""
    yield from validate_pod_template(template, path)
    policy = template.get("spec", {}).get("restartPolicy", "Always")
    if policy != "Always":
        yield not_supported(f"{path}.spec.restartPolicy", policy, ("Always",))
