"""The kinds that pods are configured with."""

from __future__ import annotations

from typing import Final

from apps.cluster.kind import Kind

KINDS: Final = (
    Kind(
        "ConfigMap",
        "configmaps",
        short_names=("cm",),
    ),
    Kind(
        "Secret",
        "secrets",
        fields=("type",),
    ),
)
