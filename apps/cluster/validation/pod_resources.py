"""Resources of a pod as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps import quantity
from apps.cluster.pods.resources import aggregate, format_like_container, is_pod_level
from apps.cluster.validation.causes import Causes, invalid, not_supported
from apps.cluster.validation.quantities import validate_requirements

Body = Mapping[str, Any]

_POD_LEVEL: Final = ("cpu", "hugepages-", "memory")


def validate_pod_resources(spec: Body, path: str) -> Causes:
    """resources of the spec, compared with those of its containers."""
    resources = spec["resources"]
    for field in ("limits", "requests"):
        for name in resources.get(field, {}):
            if not is_pod_level(name):
                yield not_supported(f"{path}.{field}[{name}]", name, _POD_LEVEL)
    yield from validate_requirements(resources, path)
    requests = resources.get("requests", {})
    for name, nanos in aggregate(spec, "requests").items():
        asked = requests.get(name)
        if asked is not None and quantity.parse(asked).nanos < nanos:
            yield invalid(
                f"{path}.requests[{name}]",
                asked,
                "must be greater than or equal to aggregate container requests of "
                f"{format_like_container(spec, 'requests', name, nanos)}",
            )
    yield from _within_pod_limits(spec.get("containers", ()), resources.get("limits", {}), path)


def _within_pod_limits(containers: Sequence[Body], limits: Body, path: str) -> Causes:
    for index, container in enumerate(containers):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            most = limits.get(name)
            if most is not None and quantity.compare(limit, most) > 0:
                yield invalid(
                    f"{path}.containers[{index}].resources.limits[{name}]",
                    limit,
                    f"must be less than or equal to pod limits of {most}",
                )
