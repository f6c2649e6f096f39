"""The templates of pods in workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.validation.causes import Causes, not_supported
from apps.cluster.validation.metadata import validate_template_metadata
from apps.cluster.validation.pods import validate_pod_spec

Body = Mapping[str, Any]


def validate_pod_template(template: Body, path: str) -> Causes:
    """The metadata and the spec of a template."""
    yield from validate_template_metadata(template.get("metadata", {}), f"{path}.metadata")
    yield from validate_pod_spec(template.get("spec", {}), f"{path}.spec")


def validate_lasting_template(template: Body, path: str) -> Causes:
    """A template whose pods are restarted whenever they end."""
    yield from validate_pod_template(template, path)
    policy = template.get("spec", {}).get("restartPolicy", "Always")
    if policy != "Always":
        yield not_supported(f"{path}.spec.restartPolicy", policy, ("Always",))
