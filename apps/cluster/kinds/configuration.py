"""The kinds that pods are configured with."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.defaulting.data import default_config_map, default_secret
from apps.cluster.kind import Kind
from apps.cluster.tables.configuration import CONFIG_MAPS, SECRETS
from apps.cluster.validation.data import immutable_data, validate_config_map, validate_secret

KINDS: Final = (
    Kind(
        "ConfigMap",
        "configmaps",
        short_names=("cm",),
        default=default_config_map,
        validate=validate_config_map,
        validate_update=immutable_data("data", "binaryData"),
        counted_by_plural=True,
        columns=CONFIG_MAPS,
    ),
    Kind(
        "Secret",
        "secrets",
        fields=("type",),
        default=default_secret,
        validate=validate_secret,
        validate_update=immutable_data("type", "data"),
        counted_by_plural=True,
        columns=SECRETS,
    ),
)
